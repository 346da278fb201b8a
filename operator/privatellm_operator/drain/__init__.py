"""``privatellm-drain``: lets a model server finish its streams before its pod ends.

It runs beside llama-server, which cuts every stream when it is told to end. The server's ``preStop`` hook
asks ``GET /drain`` here; the answer comes when the server has nothing in hand, and only then does the
kubelet tell the server to end. It knows nothing of Kubernetes and keeps no state.
"""
