"""Learn a kind's name and scope from discovery, where only its resource is known."""

from collections.abc import Iterable

from privatellm.errors import KubernetesError, UnavailableError
from privatellm.kube import KubeClient
from privatellm.kube.kinds import CONFIG_MAP, SECRET, Kind

WELL_KNOWN = {(kind.group, kind.version, kind.plural): kind for kind in (SECRET, CONFIG_MAP)}
"""Kinds that are the same everywhere, so nobody need be asked."""


async def find_kind(clients: Iterable[KubeClient], resource: tuple[str, str, str]) -> Kind:
    """Return the kind of a resource as the first server that serves it describes it.

    Args:
        clients: Servers to ask, in this order.
        resource: Group, version and plural.

    Raises:
        UnavailableError: when none of them serves it (yet).
    """
    if resource in WELL_KNOWN:
        return WELL_KNOWN[resource]
    group, version, plural = resource
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    for client in clients:
        found = await _resources(client, path)
        if entry := next((one for one in found if one["name"] == plural), None):
            return Kind(group, version, entry["kind"], plural, bool(entry["namespaced"]))
    raise UnavailableError(f"No server serves {plural} of {group or 'core'}/{version} yet.")


async def _resources(client: KubeClient, path: str) -> list[dict[str, str]]:
    try:
        document = await client.request("GET", path)
    except KubernetesError:
        return []  # Not served there, or not to be asked now: the next one may know.
    found: list[dict[str, str]] = document.get("resources") or []
    return found
