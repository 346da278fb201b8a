"""Workspaces: each gets a logical cluster, and takes everything in it along when it goes."""

from privatellm.kube import Manifest
from privatellm.kube.kinds import NAMESPACE
from privatellm_local.kcp import labels
from privatellm_local.kcp.controllers.context import Context, cluster_of, is_deleting
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, LOGICAL_CLUSTER, WORKSPACE
from privatellm_local.kcp.names import ROOT, new_cluster


async def ensure_root(context: Context) -> None:
    """Make the first logical cluster."""
    await _make_cluster(context, ROOT, ROOT)


async def sweep(context: Context) -> None:
    """Bring every workspace one step further."""
    for workspace in context.registry.all(WORKSPACE):
        if is_deleting(workspace):
            await _finish(context, workspace)
        else:
            await _advance(context, workspace)


async def _advance(context: Context, workspace: Manifest) -> None:
    await context.hold(WORKSPACE, workspace, labels.WORKSPACE_FINALIZER)
    spec = workspace.get("spec") or {}
    path = f"{context.registry.path_of(cluster_of(workspace))}:{workspace['metadata']['name']}"
    if "cluster" not in spec:
        url = f"{context.url}/clusters/{path}"
        body = {"spec": {"cluster": new_cluster(), "URL": url}}
        await context.patch(WORKSPACE, workspace, body)
        await context.set_status(WORKSPACE, workspace, {"phase": "Scheduling"})
    elif context.registry.get(LOGICAL_CLUSTER, spec["cluster"], "cluster") is None:
        await _make_cluster(context, spec["cluster"], path)
        await context.set_status(WORKSPACE, workspace, {"phase": "Initializing"})
    else:
        await context.set_status(WORKSPACE, workspace, {"phase": "Ready"})


async def _make_cluster(context: Context, cluster: str, path: str) -> None:
    await context.create(NAMESPACE, cluster, {"metadata": {"name": "default"}})
    annotations = {labels.KCP_PATH: path}
    manifest = {"metadata": {"name": "cluster", "annotations": annotations}, "spec": {}}
    await context.create(LOGICAL_CLUSTER, cluster, manifest)


async def _finish(context: Context, workspace: Manifest) -> None:
    """Delete objects first, then bindings, then namespaces, and let the workspace go at the end."""
    await context.set_status(WORKSPACE, workspace, {"phase": "Deleting"})
    cluster = (workspace.get("spec") or {}).get("cluster")
    if cluster and not await _empty(context, cluster):
        return
    logical = context.registry.get(LOGICAL_CLUSTER, cluster or "", "cluster")
    if logical is not None:
        await context.delete(LOGICAL_CLUSTER, logical)
    await context.release(WORKSPACE, workspace, labels.WORKSPACE_FINALIZER)


async def _empty(context: Context, cluster: str) -> bool:
    built_in = {API_BINDING, NAMESPACE, LOGICAL_CLUSTER, WORKSPACE}
    bound = [kind for kind in context.views.in_workspace(cluster) if kind not in built_in]
    content = [kind for kind in bound if kind.group not in ("apis.kcp.io", "core.kcp.io")]
    for kinds in (content, (API_BINDING,), (NAMESPACE,), (API_EXPORT,)):
        if not await context.delete_all(kinds, cluster):
            return False
    return True
