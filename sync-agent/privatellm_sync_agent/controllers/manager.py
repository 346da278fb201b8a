"""Run one synchronizer for each publication: never two, never an outdated one.

A changed PublishedResource is a new publication: the old synchronizer ends, then the new one starts. One
that is refused keeps the old one running until it can be replaced by something valid; one that is deleted
ends it and leaves every object where it is.
"""

import asyncio
from collections.abc import Iterable

import structlog

from privatellm.kube import KubeClient
from privatellm.telemetry.tracing import SpanSink
from privatellm_sync_agent.engine.events import EventRecorder
from privatellm_sync_agent.engine.gate import Gate
from privatellm_sync_agent.engine.publication import Publication
from privatellm_sync_agent.engine.synchronizer import Synchronizer
from privatellm_sync_agent.engine.world import CopiedKinds, no_kinds

log = structlog.get_logger(__name__)

RESTART_SECONDS = 5.0


class Manager:
    """Owns the running synchronizers."""

    def __init__(
        self,
        service: KubeClient,
        kcp: KubeClient,
        recorder: EventRecorder,
        gate: Gate,
        spans: SpanSink | None = None,
        copied: CopiedKinds = no_kinds,
    ) -> None:
        self._service = service
        self._kcp = kcp
        self._recorder = recorder
        self._gate = gate
        self._spans = spans
        self._copied = copied
        self._running: dict[str, tuple[Synchronizer, asyncio.Task[None]]] = {}
        self._urls: frozenset[str] = frozenset()

    @property
    def synchronizers(self) -> tuple[Synchronizer, ...]:
        """What runs now."""
        return tuple(synchronizer for synchronizer, _ in self._running.values())

    @property
    def urls(self) -> frozenset[str]:
        """The endpoints that are followed."""
        return self._urls

    def set_endpoints(self, urls: Iterable[str]) -> None:
        """Follow these endpoints from now on."""
        self._urls = frozenset(urls)
        for synchronizer in self.synchronizers:
            synchronizer.set_endpoints(self._urls)

    async def want(self, publication: Publication) -> None:
        """Run this publication in place of another one of its name."""
        current = self._running.get(publication.name)
        if current is not None and current[0].publication == publication:
            return
        await self.drop(publication.name)
        synchronizer = Synchronizer(
            publication,
            service=self._service,
            kcp=self._kcp,
            recorder=self._recorder,
            gate=self._gate,
            spans=self._spans,
            copied=self._copied,
        )
        synchronizer.set_endpoints(self._urls)
        task = asyncio.create_task(_keep_running(synchronizer))
        self._running[publication.name] = (synchronizer, task)
        log.info("syncing", resource=publication.name)

    async def drop(self, name: str) -> None:
        """End a publication's synchronizer and wait until it has ended."""
        found = self._running.pop(name, None)
        if found is not None:
            found[1].cancel()
            await asyncio.gather(found[1], return_exceptions=True)
            log.info("syncing ended", resource=name)

    async def close(self) -> None:
        """End everything."""
        for name in tuple(self._running):
            await self.drop(name)


async def _keep_running(synchronizer: Synchronizer) -> None:
    while True:
        try:
            await synchronizer.run()
        except Exception:  # A mistake in one resource must not end the others.
            log.exception("synchronizer broke", resource=synchronizer.publication.name)
        await asyncio.sleep(RESTART_SECONDS)
