"""Everything that runs for one publication: its informers, its queue and its workers.

Exactly one of these runs for a published resource; a changed one is a new publication, and the old
synchronizer ends before the new one starts. Endpoints come and go while it runs. What an endpoint served is
out of sight afterwards, and that is all.
"""

import asyncio
from collections.abc import Iterable

import structlog

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm.telemetry.tracing import SpanSink
from privatellm_sync_agent.engine.events import EventRecorder
from privatellm_sync_agent.engine.gate import Gate
from privatellm_sync_agent.engine.informer import Informer, OnChange
from privatellm_sync_agent.engine.journal import Journal
from privatellm_sync_agent.engine.ladder import Ladder
from privatellm_sync_agent.engine.publication import Publication, RelatedRule
from privatellm_sync_agent.engine.queue import WorkQueue
from privatellm_sync_agent.engine.store import Store, metadata_only
from privatellm_sync_agent.engine.world import (
    LOGICAL_CLUSTER,
    NAMESPACE,
    CopiedKinds,
    Endpoint,
    World,
    no_kinds,
)
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.ownership import AGENT, COPY, remote_identity
from privatellm_sync_agent.objects.selectors import LabelSelector
from privatellm_sync_agent.published.related import Origin

log = structlog.get_logger(__name__)

API_BINDING = Kind("apis.kcp.io", "v1alpha2", "APIBinding", "apibindings", namespaced=False)

WORKERS = 8
"""Objects of one published resource that are worked on at a time."""

GRANTS_SECONDS = 300.0
"""How often it is looked whether what the provider grants still holds."""


class Synchronizer:
    """Syncs the objects of one publication until it is cancelled."""

    def __init__(
        self,
        publication: Publication,
        *,
        service: KubeClient,
        kcp: KubeClient,
        recorder: EventRecorder,
        gate: Gate,
        spans: SpanSink | None = None,
        copied: CopiedKinds = no_kinds,
        workers: int = WORKERS,
    ) -> None:
        self.publication = publication
        self.world = World(service, copied)
        journal = Journal(publication.name, self.world, spans)
        self.queue: WorkQueue[Identity] = WorkQueue(
            group_of=lambda identity: identity.cluster, gate=gate, frame=journal.frame
        )
        self._kcp = kcp
        self._ladder = Ladder(publication, self.world, recorder)
        self._workers = workers
        self._informers: dict[str, list[Informer]] = {}
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._wanted: frozenset[str] = frozenset()

    @property
    def is_synced(self) -> bool:
        """Whether every informer has seen its whole side at least once."""
        return bool(self._informers) and all(
            informer.synced.is_set() for group in self._informers.values() for informer in group
        )

    @property
    def relists(self) -> int:
        """How often anything was listed."""
        return sum(one.relists for group in self._informers.values() for one in group)

    def set_endpoints(self, urls: Iterable[str]) -> None:
        """Follow these endpoints and no others; an endpoint that is lost takes nothing with it."""
        self._wanted = frozenset(urls)
        if self._group is not None:
            self._follow_wanted(self._group)

    async def run(self) -> None:
        """Sync until cancelled; a second run starts from nothing."""
        self._informers, self._tasks = {}, {}
        own = self._own_informers()
        self._informers[""] = own
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for informer in own:
                    group.create_task(informer.run())
                # Copies first: an object whose copy is not known yet would look like a new one.
                await own[0].synced.wait()
                self._follow_wanted(group)
                group.create_task(self.queue.run(self._ladder.climb, workers=self._workers))
                if self.publication.grants:
                    group.create_task(self._look_at_grants())
        finally:
            self._group = None

    async def _look_at_grants(self) -> None:
        """Let one object of each local namespace have a pass now and then: it looks at the grants there."""
        while True:
            await asyncio.sleep(GRANTS_SECONDS)
            self.world.opened.clear()
            for copy in {
                one["metadata"].get("namespace"): one for one in self.world.copies
            }.values():
                self._copy_changed(None, copy)

    def _follow_wanted(self, group: asyncio.TaskGroup) -> None:
        for url in tuple(self._tasks):
            if url not in self._wanted:
                self._leave(url)
        for url in sorted(self._wanted - self._tasks.keys()):
            endpoint = Endpoint(url, self._kcp)
            self.world.endpoints[url] = endpoint
            self._informers[url] = self._informers_of(endpoint)
            self._tasks[url] = [group.create_task(one.run()) for one in self._informers[url]]
            log.info("following endpoint", resource=self.publication.name, url=url)

    def _leave(self, url: str) -> None:
        for task in self._tasks.pop(url):
            task.cancel()
        self._informers.pop(url, None)
        self.world.endpoints.pop(url, None)
        log.info("left endpoint", resource=self.publication.name, url=url)

    def _own_informers(self) -> list[Informer]:
        publication, service = self.publication, self.world.service
        labels = f"{AGENT}={publication.agent}"
        copies = Informer(
            service, publication.local, self.world.copies, self._copy_changed, labels=labels
        )
        related = [rule for rule in publication.related if _followed_in_service(rule)]
        return [copies, *(self._related_in_service(rule) for rule in related)]

    def _informers_of(self, endpoint: Endpoint) -> list[Informer]:
        publication, wildcard = self.publication, endpoint.wildcard()
        found = [
            Informer(wildcard, publication.remote, endpoint.primaries, self._primary_changed),
            Informer(wildcard, API_BINDING, endpoint.bindings, self._workspace_changed),
            *(self._related_in_kcp(rule, endpoint) for rule in publication.related),
        ]
        if publication.spec.filter.namespace is not None:
            store = endpoint.namespaces
            found.append(Informer(wildcard, NAMESPACE, store, self._namespace_changed))
        if publication.spec.enable_workspace_paths:
            store = endpoint.clusters
            found.append(Informer(wildcard, LOGICAL_CLUSTER, store, self._workspace_changed))
        return found

    def _related_in_service(self, rule: RelatedRule) -> Informer:
        """Follow originals in the service cluster, or our own copies there."""

        def changed(before: Manifest | None, after: Manifest | None) -> None:
            self._related_changed(rule, before, after, cluster="")

        up = rule.spec.origin is Origin.SERVICE
        kind, labels = (
            (rule.origin, _service_selector(rule)) if up else (rule.destination, f"{COPY}=true")
        )
        store = Store(trim=metadata_only)
        return Informer(self.world.service, kind, store, changed, labels=labels)

    def _related_in_kcp(self, rule: RelatedRule, endpoint: Endpoint) -> Informer:
        """Follow originals in the workspaces, or our own copies there."""

        def changed(before: Manifest | None, after: Manifest | None) -> None:
            seen = after or before
            if seen is not None:
                self._related_changed(rule, before, after, cluster=Identity.of(seen).cluster)

        down = rule.spec.origin is Origin.KCP
        kind, labels = (rule.origin, "") if down else (rule.destination, f"{COPY}=true")
        store = Store(trim=metadata_only)
        on_change: OnChange = changed
        return Informer(endpoint.wildcard(), kind, store, on_change, labels=labels)

    def _primary_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        seen = after or before
        if seen is not None:
            self.queue.add(Identity.of(seen))

    def _copy_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        for seen in (before, after):
            identity = remote_identity(seen) if seen is not None else None
            if identity is not None:
                self.queue.add(identity)

    def _namespace_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        seen = after or before
        if seen is not None:
            found = Identity.of(seen)
            self._add_primaries((found.cluster, found.name))

    def _workspace_changed(self, _before: Manifest | None, after: Manifest | None) -> None:
        # A claim that is accepted or a path that becomes known lets passes succeed that failed before.
        if after is not None:
            self._add_primaries(Identity.of(after).cluster)

    def _related_changed(
        self, rule: RelatedRule, before: Manifest | None, after: Manifest | None, *, cluster: str
    ) -> None:
        seen = after or before
        if seen is None:
            return
        in_origin = bool(cluster) == (rule.spec.origin is Origin.KCP)
        kind = rule.origin if in_origin else rule.destination
        identity = Identity.of(seen)
        for user in self.world.uses.users_of(
            (kind, Identity(cluster, identity.namespace, identity.name))
        ):
            self.queue.add(user)
        if in_origin:
            self._add_owners(rule, seen, cluster)

    def _add_owners(self, rule: RelatedRule, seen: Manifest, cluster: str) -> None:
        watch = rule.spec.watch
        if watch is None:
            return
        if watch.by_selector is not None:
            if watch.by_selector.matches(seen["metadata"].get("labels")):
                self._add_all(cluster)
            return
        for reference in seen["metadata"].get("ownerReferences") or []:
            for copy in self.world.copies.indexed(reference["uid"]):
                self._copy_changed(None, copy)
            self._add_primaries(reference["uid"])

    def _add_all(self, cluster: str) -> None:
        if cluster:
            self._add_primaries(cluster)
            return
        for copy in self.world.copies:
            self._copy_changed(None, copy)

    def _add_primaries(self, key: object) -> None:
        for endpoint in self.world.endpoints.values():
            for primary in endpoint.primaries.indexed(key):
                self.queue.add(Identity.of(primary))


def _followed_in_service(rule: RelatedRule) -> bool:
    return rule.spec.origin is Origin.KCP or rule.spec.watch is not None


def _service_selector(rule: RelatedRule) -> str:
    """Return the narrowest label selector that still sees every original that may be copied."""
    required = LabelSelector(match_labels=rule.guard.labels)
    watch = rule.spec.watch
    chosen = watch.by_selector if watch is not None and watch.by_selector is not None else None
    return ",".join(text for text in (required.query(), chosen.query() if chosen else "") if text)
