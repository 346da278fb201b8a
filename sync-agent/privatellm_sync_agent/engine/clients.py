"""The same connections and identity below another base URL.

A kcp server is thousands of API servers behind one address. A client for each would hold a TLS context and
a connection pool of its own; a view shares its parent's and costs one small object.
"""

from typing_extensions import override

from privatellm.kube import KubeClient


class ClientView(KubeClient):
    """A client that shares another one's session and credentials; only its parent is ever closed."""

    def __init__(self, parent: KubeClient, base_url: str) -> None:
        # Whatever a client has, a view shares: nothing is opened, so its own constructor is not called.
        vars(self).update(vars(parent))
        self._base_url = base_url.rstrip("/")

    @property
    @override
    def server(self) -> str:
        return self._base_url

    @override
    async def close(self) -> None:
        """Do nothing: the parent owns the connections."""
