"""Remove local namespaces that are of no use any more: ours, empty, and of a workspace that is gone.

All three must hold at two sweeps in a row. Ours: it carries the label that only this agent writes, on the
namespaces it makes. Gone: some endpoint is followed, everything was seen, and the workspace has no binding
in sight. Empty: a live look into every kind of namespaced object finds only what Kubernetes puts into each
namespace; whatever may not be listed counts as content. So an agent without these rights removes nothing.
"""

import asyncio
from collections.abc import Iterable

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import NAMESPACE, ROLE_BINDING
from privatellm_sync_agent.controllers.manager import Manager
from privatellm_sync_agent.objects.ownership import AGENT, CLUSTER

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 300.0

_FURNITURE = frozenset(
    {
        ("configmaps", "kube-root-ca.crt"),
        ("serviceaccounts", "default"),
    }
)
"""What Kubernetes puts into every namespace."""

_FLEETING = frozenset({"events", "leases", "endpoints", "endpointslices"})
"""Kinds whose objects say nothing about use."""


class NamespaceSweeper:
    """Looks at this agent's namespaces now and then."""

    def __init__(self, service: KubeClient, agent: str, manager: Manager) -> None:
        self._service = service
        self._agent = agent
        self._manager = manager
        self._suspects: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except KubernetesError as error:
                log.info("namespaces not swept", error=str(error))

    async def sweep(self) -> None:
        """Remove what was of no use at the last sweep and still is."""
        listing = await self._service.list(NAMESPACE, labels=f"{AGENT}={self._agent}")
        found = {one["metadata"]["uid"]: one for one in listing.items if self._is_suspect(one)}
        for uid in sorted(self._suspects & found.keys()):
            name = found[uid]["metadata"]["name"]
            if await is_empty(self._service, name, self._grants()):
                log.info("removing an empty namespace", namespace=name)
                await self._service.delete(NAMESPACE, name, uid=uid)
        self._suspects = frozenset(found)

    def _is_suspect(self, namespace: Manifest) -> bool:
        metadata = namespace["metadata"]
        if "deletionTimestamp" in metadata or not self._sees_everything():
            return False
        cluster = str((metadata.get("labels") or {}).get(CLUSTER, ""))
        return bool(cluster) and not any(
            synchronizer.world.knows(cluster) for synchronizer in self._manager.synchronizers
        )

    def _sees_everything(self) -> bool:
        running = self._manager.synchronizers
        return bool(self._manager.urls and running) and all(one.is_synced for one in running)

    def _grants(self) -> frozenset[tuple[str, str]]:
        """Return the bindings that the agent itself puts into namespaces."""
        return frozenset(
            (ROLE_BINDING.plural, grant.binding_name)
            for synchronizer in self._manager.synchronizers
            for grant in synchronizer.publication.grants
        )


async def is_empty(
    client: KubeClient, namespace: str, ours: frozenset[tuple[str, str]] = frozenset()
) -> bool:
    """Return whether a namespace holds nothing but what is put into each; unsure means no.

    Args:
        client: May list what can be in it; whatever may not be listed counts as content.
        namespace: The namespace.
        ours: Plural and name of what the agent puts into each, beside Kubernetes.
    """
    furniture = _FURNITURE | ours
    try:
        for root, plural in await _namespaced(client):
            names = await _first_names(client, f"{root}/namespaces/{namespace}/{plural}")
            if not {(plural, name) for name in names} <= furniture:
                return False
    except KubernetesError as error:
        log.info("namespace not looked through", namespace=namespace, error=str(error))
        return False
    return True


async def _first_names(client: KubeClient, path: str) -> list[str]:
    # Furniture comes to a few objects, so a short page is enough to find one that is none.
    page = await client.request("GET", path, query={"limit": "10"})
    return [item["metadata"]["name"] for item in page.get("items") or []]


async def _namespaced(client: KubeClient) -> list[tuple[str, str]]:
    """Return root path and plural of every kind whose objects live in namespaces and can be listed."""
    groups = (await client.request("GET", "/apis"))["groups"]
    roots = ["/api/v1", *(f"/apis/{one['preferredVersion']['groupVersion']}" for one in groups)]
    found: list[tuple[str, str]] = []
    for root in roots:
        document = await client.request("GET", root)
        found += [(root, plural) for plural in _listable(document.get("resources") or [])]
    return found


def _listable(resources: Iterable[dict[str, object]]) -> Iterable[str]:
    for resource in resources:
        name, verbs = str(resource["name"]), resource.get("verbs") or ()
        assert isinstance(verbs, list | tuple)  # noqa: S101 - discovery documents have lists there
        if resource.get("namespaced") and "list" in verbs and name not in _FLEETING:
            yield name
