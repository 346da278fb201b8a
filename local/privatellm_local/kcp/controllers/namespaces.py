"""Namespaces: a kube-apiserver without its controllers never finishes deleting one."""

from privatellm.errors import ConflictError, NotFoundError
from privatellm.kube import Manifest
from privatellm.kube.kinds import NAMESPACE
from privatellm_local.kcp.controllers.context import Context, cluster_of, is_deleting
from privatellm_local.kcp.names import backing_namespace


async def sweep(context: Context) -> None:
    """Empty and finish every namespace that is being deleted."""
    for namespace in context.registry.all(NAMESPACE):
        if is_deleting(namespace):
            await _finish(context, namespace)


async def _finish(context: Context, namespace: Manifest) -> None:
    cluster, name = cluster_of(namespace), namespace["metadata"]["name"]
    kinds = [kind for kind in context.views.in_workspace(cluster) if kind.namespaced]
    if not await context.delete_all(kinds, cluster, name):
        return
    path = NAMESPACE.path(None, backing_namespace(cluster, name))
    try:
        stored = await context.client.request("GET", path)
        stored["spec"]["finalizers"] = []
        await context.client.request("PUT", f"{path}/finalize", body=stored)
    except (NotFoundError, ConflictError):
        context.pending = True
