"""Order an instance by server-side apply, and tell whose fields are in the way.

A field that somebody else manages (a GitOps controller, an autoscaler, ``kubectl edit``) is not taken over
silently, because the two would undo each other's work for ever. What an earlier command of ours wrote is
ours: ``scale`` and ``deploy`` do not get in each other's way.
"""

import re

from privatellm.errors import ConflictError
from privatellm.kube import Manifest, kinds
from privatellm_cli.cluster import FIELD_MANAGER, Cluster, Name

_MANAGER = re.compile(r'conflicts? with "([^"]+)"')
"""How the API server names a field's manager when it refuses an apply."""


def manifest(name: Name, model: str, replicas: int | None) -> Manifest:
    """Return the order; fields that are not asked for are left to whoever sets them."""
    wanted = {"model": model} | ({} if replicas is None else {"replicas": replicas})
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": kinds.LLM_INSTANCE.name,
        "metadata": {"name": name.name, "namespace": name.namespace},
        "spec": wanted,
    }


def kept_replicas(before: Manifest | None) -> int | None:
    """Return the replicas that an order must repeat, or the API server would reset them to the default.

    Those are the ones that an earlier order of ours set; anybody else's stay by themselves.
    """
    for entry in (before or {}).get("metadata", {}).get("managedFields") or ():
        is_ours = entry["manager"] == FIELD_MANAGER and entry["operation"] == "Apply"
        if is_ours and "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {}):
            return int((before or {})["spec"]["replicas"])
    return None


async def apply(cluster: Cluster, order: Manifest, *, force: bool) -> Manifest:
    """Apply an order and return the instance as it is stored.

    Raises:
        ConflictError: when somebody else manages a field that the order sets to another value.
    """
    try:
        return await _apply(cluster, order, force=force)
    except ConflictError as error:
        if foreign := managers(str(error)) - {FIELD_MANAGER}:
            raise ConflictError(
                f"{error} The fields belong to {', '.join(sorted(foreign))}: change them there, or take "
                "them over with --force-conflicts.",
                status=error.status,
                reason=error.reason,
            ) from error
    return await _apply(cluster, order, force=True)


def managers(message: str) -> frozenset[str]:
    """Return the managers that the API server's message names; one that it does not name is foreign."""
    return frozenset(_MANAGER.findall(message)) or frozenset({"another manager"})


async def _apply(cluster: Cluster, order: Manifest, *, force: bool) -> Manifest:
    return await cluster.client.apply(
        kinds.LLM_INSTANCE, order, field_manager=FIELD_MANAGER, force=force
    )
