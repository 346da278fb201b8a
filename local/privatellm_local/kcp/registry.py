"""What the double knows of kcp's own objects: tables that watches of the API server keep true."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_local.kcp import labels
from privatellm_local.kcp.kinds import (
    API_BINDING,
    API_EXPORT,
    API_RESOURCE_SCHEMA,
    FOLLOWED,
    LOGICAL_CLUSTER,
)
from privatellm_local.kcp.rewriting import outward
from privatellm_local.kcp.urls import Export

PAUSE_SECONDS = 0.3
Key = tuple[str, str]
"""Cluster and name."""


class Registry:
    """kcp's own objects as their workspaces see them, by kind, cluster and name."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._tables: dict[str, dict[Key, Manifest]] = {kind.plural: {} for kind in FOLLOWED}
        self._synced = {kind.plural: asyncio.Event() for kind in FOLLOWED}

    async def wait(self) -> None:
        """Wait until everything was listed once."""
        for synced in self._synced.values():
            await synced.wait()

    def all(self, kind: Kind) -> Iterator[Manifest]:
        """Return every object of a kind."""
        return iter(tuple(self._tables[kind.plural].values()))

    def get(self, kind: Kind, cluster: str, name: str) -> Manifest | None:
        """Return one object."""
        return self._tables[kind.plural].get((cluster, name))

    def cluster_of(self, workspace: str) -> str | None:
        """Return the logical cluster that a path or a name stands for."""
        for cluster in self.all(LOGICAL_CLUSTER):
            annotations = cluster["metadata"]["annotations"]
            if workspace in (annotations.get(labels.KCP_PATH), annotations[labels.KCP_CLUSTER]):
                return str(annotations[labels.KCP_CLUSTER])
        return None

    def path_of(self, cluster: str) -> str:
        """Return the path of a logical cluster."""
        found = self.get(LOGICAL_CLUSTER, cluster, "cluster")
        annotations = (found or {"metadata": {}})["metadata"].get("annotations") or {}
        return str(annotations.get(labels.KCP_PATH, cluster))

    def export_of(self, binding: Manifest) -> tuple[Export, Manifest] | None:
        """Return the export that a binding refers to."""
        reference = binding["spec"]["reference"]["export"]
        own = binding["metadata"]["annotations"][labels.KCP_CLUSTER]
        cluster = self.cluster_of(reference["path"]) if reference.get("path") else own
        export = self.get(API_EXPORT, cluster or "", reference["name"])
        return (Export(cluster or "", reference["name"]), export) if export else None

    def bindings_to(self, export: Export) -> Iterator[Manifest]:
        """Return every binding to an export that was accepted once."""
        for binding in self.all(API_BINDING):
            found = self.export_of(binding)
            if found and found[0] == export and (binding.get("status") or {}).get("phase"):
                yield binding

    def binding_in(self, cluster: str, export: Export) -> Manifest | None:
        """Return a cluster's binding to an export."""
        return next((one for one in self.bindings_to(export) if _cluster(one) == cluster), None)

    def schemas_of(self, export: Export) -> tuple[Manifest, ...]:
        """Return the schemas that an export names and that exist."""
        found = self.get(API_EXPORT, export.cluster, export.name) or {}
        entries: list[Any] = (found.get("spec") or {}).get("resources") or []
        named = (self.get(API_RESOURCE_SCHEMA, export.cluster, one["schema"]) for one in entries)
        return tuple(schema for schema in named if schema is not None)

    async def follow(self, client: KubeClient, kind: Kind) -> None:
        """Keep the table of one kind true for ever."""
        while True:
            try:
                await self._follow_once(client, kind)
            except KubernetesError:
                # The API server behind us restarts or compacted its history; a new list tells all.
                await asyncio.sleep(PAUSE_SECONDS)

    async def _follow_once(self, client: KubeClient, kind: Kind) -> None:
        listing = await client.list(kind, labels=labels.CLUSTER)
        table = self._tables[kind.plural]
        table.clear()
        for item in listing.items:
            seen = outward(item)
            table[_key(seen)] = seen
        self._synced[kind.plural].set()
        self.changed.set()
        version = listing.resource_version
        watch = client.watch(kind, resource_version=version, labels=labels.CLUSTER)
        async with aclosing(watch) as events:  # type: ignore[type-var]
            async for event in events:
                if event.type == "BOOKMARK":
                    continue
                seen = outward(event.object)
                if event.type == "DELETED":
                    table.pop(_key(seen), None)
                else:
                    table[_key(seen)] = seen
                self.changed.set()


def _cluster(manifest: Manifest) -> str:
    return str(manifest["metadata"]["annotations"][labels.KCP_CLUSTER])


def _key(manifest: Manifest) -> Key:
    return _cluster(manifest), manifest["metadata"]["name"]
