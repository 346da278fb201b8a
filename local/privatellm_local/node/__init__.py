"""The host node: runs the pods bound to it as processes of this machine, as a kubelet would.

It needs neither root nor a container runtime, so it gives no isolation either: network policies,
security contexts, resource limits, pull secrets and read-only mounts are accepted and not enforced.
What protects the machine is that a pod chooses nothing that runs: its image and command must be in
the node's image table, loader variables are ignored, and paths that are not the container's own are
refused. What remains open is in ``docs/explanation/pods-as-processes.md``.

Reading order: :mod:`.agent` wires everything; :mod:`.pods.lifecycle` decides, :mod:`.pods.worker`
acts, :mod:`.pods.status` reports; :mod:`.services` puts cluster IPs in front of ready pods.
"""
