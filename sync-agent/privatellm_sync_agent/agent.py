"""The agent as one object: follow the provider's wishes and kcp's endpoints, and sync."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from privatellm.telemetry.tracing import SpanSink
from privatellm_sync_agent.controllers.export import ExportController
from privatellm_sync_agent.controllers.manager import Manager
from privatellm_sync_agent.controllers.namespaces import NamespaceSweeper
from privatellm_sync_agent.controllers.provided import ProvidedResources
from privatellm_sync_agent.controllers.publishing import Publisher, RefusedError, definition_names
from privatellm_sync_agent.engine.events import EventRecorder
from privatellm_sync_agent.engine.gate import Gate
from privatellm_sync_agent.engine.informer import Informer
from privatellm_sync_agent.engine.queue import WorkQueue
from privatellm_sync_agent.engine.store import Store, without_managed_fields
from privatellm_sync_agent.kcp.home import ENDPOINT_SLICE, Home, endpoint_urls, overridden
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.projection.exports import API_EXPORT, Published
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE, GroupKind, copied_kind

EXPORT_KEY = "export"


class Controller(StrEnum):
    """The parts that can be switched off, by upstream's names."""

    EXPORT = "apiexport"
    SCHEMA = "apiresourceschema"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent is to do.

    Attributes:
        name: Name of the agent, part of every mark; must never change.
        selector: Label selector of the PublishedResources that are ours.
        disabled: Parts that are switched off.
        provided: Directory with PublishedResources that are applied; ``None``: none.
        overrides: Hosts of endpoints that are reached under another one, each with a port.
    """

    name: str
    selector: str = ""
    disabled: frozenset[Controller] = frozenset()
    provided: Path | None = None
    overrides: tuple[tuple[str, str], ...] = ()


class Agent:
    """Syncs everything that is published, until it is cancelled."""

    def __init__(
        self,
        settings: AgentSettings,
        *,
        service: KubeClient,
        kcp: KubeClient,
        home: Home,
        spans: SpanSink | None = None,
    ) -> None:
        self.settings = settings
        self._service = service
        self._kcp = kcp
        self._home = home
        self.gate = Gate()
        self._recorder = EventRecorder(settings.name)
        self.manager = Manager(service, kcp, self._recorder, self.gate, spans, self._copied_kinds)
        self.namespaces = NamespaceSweeper(service, settings.name, self.manager)
        self.published: dict[str, Published] = {}
        self._queue: WorkQueue[str] = WorkQueue(gate=self.gate)
        self._export_queue: WorkQueue[str] = WorkQueue(gate=self.gate)
        self._resources = Store()
        self._definitions = Store(trim=definition_names)
        self._publisher = Publisher(
            service,
            home.exports,
            settings.name,
            self._definitions,
            self._recorder,
            self._endpoints,
            self._holder,
            writes_schemas=Controller.SCHEMA not in settings.disabled,
        )
        self.informers = self._informers()

    @property
    def is_ready(self) -> bool:
        """Whether everything that is followed was seen once, endpoints and objects included."""
        return all(informer.synced.is_set() for informer in self.informers) and all(
            synchronizer.is_synced for synchronizer in self.manager.synchronizers
        )

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._recorder.run())
                group.create_task(self.namespaces.run())
                if self.settings.provided is not None:
                    provided = ProvidedResources(self._service, self.settings.provided)
                    group.create_task(provided.run())
                for informer in self.informers:
                    group.create_task(informer.run())
                # Definitions first, or every published resource would be told that its own is missing; all
                # resources first, or a related object might be given away that another one's copy owns.
                await self._synced(CUSTOM_RESOURCE_DEFINITION.plural)
                await self._synced(PUBLISHED_RESOURCE.plural)
                await self._synced(ENDPOINT_SLICE.plural)
                group.create_task(self._queue.run(self._publish, workers=2))
                if Controller.EXPORT not in self.settings.disabled:
                    export = ExportController(
                        self._home, self.settings.name, self._recorder, self._all_published
                    )
                    group.create_task(self._export_queue.run(export.reconcile, workers=1))
        finally:
            await self.manager.close()

    async def finish(self) -> None:
        """Start no more passes, and return when those that run have ended and told what they did."""
        await self.gate.finish()
        await self._recorder.flush()

    async def _synced(self, plural: str) -> None:
        for informer in self.informers:
            if informer.kind.plural == plural:
                await informer.synced.wait()

    def _informers(self) -> tuple[Informer, ...]:
        service, home = self._service, self._home
        slices = Store(trim=without_managed_fields)
        return (
            Informer(
                service,
                PUBLISHED_RESOURCE,
                self._resources,
                self._resource_changed,
                labels=self.settings.selector,
            ),
            Informer(
                service, CUSTOM_RESOURCE_DEFINITION, self._definitions, self._definition_changed
            ),
            Informer(
                home.slices,
                ENDPOINT_SLICE,
                slices,
                self._slice_changed,
                fields=f"metadata.name={home.slice_name}",
            ),
            Informer(
                home.exports,
                API_EXPORT,
                Store(),
                self._export_changed,
                fields=f"metadata.name={home.export_name}",
            ),
        )

    async def _publish(self, name: str) -> float | None:
        manifest = self._resources.get(Identity("", "", name))
        if manifest is None or "deletionTimestamp" in manifest["metadata"]:
            await self._forget(name)
            return None
        try:
            outcome = await self._publisher.publish(manifest)
        except RefusedError:
            return None  # A change of it, or of a definition, brings it back.
        self.published[name] = outcome.published
        self._export_queue.add(EXPORT_KEY)
        if outcome.publication is None or Controller.SYNC in self.settings.disabled:
            await self.manager.drop(name)
        else:
            await self.manager.want(outcome.publication)
        return None

    async def _forget(self, name: str) -> None:
        await self.manager.drop(name)
        if self.published.pop(name, None) is not None:
            for (
                waiting
            ) in self._resources:  # One of them may have been refused because of this one.
                self._queue.add(waiting["metadata"]["name"])

    def _holder(self, published: Published) -> str:
        """Return who publishes the same API already: two would fight over its objects."""
        return next(
            (
                name
                for name, known in self.published.items()
                if (known.group, known.resource) == (published.group, published.resource)
            ),
            "",
        )

    def _copied_kinds(self) -> frozenset[GroupKind]:
        found = (copied_kind(manifest) for manifest in self._resources)
        return frozenset(kind for kind in found if kind is not None)

    def _all_published(self) -> tuple[Published, ...]:
        return tuple(self.published[name] for name in sorted(self.published))

    def _endpoints(self) -> tuple[KubeClient, ...]:
        urls = sorted(self.manager.urls)
        return tuple(self._kcp.at(f"{url.rstrip('/')}/clusters/*") for url in urls)

    def _resource_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        seen = after or before
        if seen is not None:
            self._queue.add(seen["metadata"]["name"])

    def _definition_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        seen = after or before
        if seen is None:
            return
        defined = (seen["spec"]["group"], seen["spec"]["names"]["kind"])
        for manifest in self._resources:
            wanted = (manifest.get("spec") or {}).get("resource") or {}
            if (wanted.get("apiGroup"), wanted.get("kind")) == defined:
                self._queue.add(manifest["metadata"]["name"])

    def _slice_changed(self, _before: Manifest | None, after: Manifest | None) -> None:
        # A slice that vanished says nothing about its endpoints: keep what we have, as kcp may restore it.
        if after is not None:
            overrides = self.settings.overrides
            self.manager.set_endpoints(overridden(url, overrides) for url in endpoint_urls(after))

    def _export_changed(self, _before: Manifest | None, _after: Manifest | None) -> None:
        self._export_queue.add(EXPORT_KEY)
