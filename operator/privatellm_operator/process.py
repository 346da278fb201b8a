"""One operator process: stand by, lead, and leave without a trace.

Stand-by processes serve their probes and wait for the Lease. Who has it renews it from then on to the end
of its last pass. The leader lists the world once, starts its watches, and works, until somebody asks it to
stop or takes the Lease, whatever it is doing then. Leaving goes backwards: no new pass starts, running
passes finish, our watches end, the Lease is released, and kopf ends, which only listens.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Coroutine
from typing import Any

import kopf
import structlog

from privatellm.backend_keys import PlatformKey
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.fence import FencedClient
from privatellm.kube.lease import Lease, LeaseSettings
from privatellm.telemetry.exposition import show_spans
from privatellm.telemetry.families import operator as families
from privatellm.telemetry.tracing import CountingSink
from privatellm_operator.context import ProcessContext, utc_now
from privatellm_operator.fetches import ASK_SECONDS
from privatellm_operator.handlers.arrivals import Arrivals
from privatellm_operator.handlers.login import add_login
from privatellm_operator.handlers.namespaced import NamespacedWatches
from privatellm_operator.handlers.obstacles import ObstacleWatches
from privatellm_operator.handlers.registry import build_registry, build_settings
from privatellm_operator.last_use import LastUsePoll
from privatellm_operator.listener import Listener, Readiness
from privatellm_operator.metrics import Metrics
from privatellm_operator.observing.figures import WorldCollector
from privatellm_operator.observing.journal import Journal
from privatellm_operator.observing.revocations import Revocations
from privatellm_operator.observing.scraping import ModelScraper
from privatellm_operator.periodic import (
    ask_fetches,
    enqueue_catalogue,
    every,
    relist,
    secret_namespaces,
)
from privatellm_operator.queue import WorkQueue
from privatellm_operator.reconcile.platform.catalogue import Catalogue
from privatellm_operator.reconcile.token.sweep import VerifierSweep
from privatellm_operator.settings import Settings
from privatellm_operator.wiring import build_reconcilers
from privatellm_operator.world import routing, watched
from privatellm_operator.world.cache import World
from privatellm_operator.world.sync import refresh_patiently

log = structlog.get_logger(__name__)

LEASE_NAME = "private-llm-operator"

FIRST_LIST_SECONDS = 10.0
"""How long the first passes wait for the first lists of our own watches."""

FINISH_SECONDS = 20.0
"""How long running passes may take to finish when the process is asked to stop."""


class OperatorProcess:
    """Everything that one process runs."""

    def __init__(
        self,
        settings: Settings,
        platform_key: PlatformKey,
        client: FencedClient,
        watch_client: KubeClient,
        lease: Lease,
        spans: CountingSink | None = None,
    ) -> None:
        """Put the parts together; nothing is started or asked yet.

        Args:
            settings: What the platform team decided.
            platform_key: The secret that backend keys derive from.
            client: For passes, whose writes ask the Lease.
            watch_client: For watches of our own, each of which holds a connection.
            lease: Who has it leads.
            spans: Where traces go; ``None`` when nobody wants them.
        """
        self._settings = settings
        self._metrics = Metrics()
        self._readiness = Readiness(lease.is_certain)
        self._listener = Listener(self._readiness, self._metrics)
        world = World(served=settings.watch.namespaces)
        revocations = Revocations(settings.tokens.token_namespace, self._metrics.revoked)
        self._journal = Journal(world, self._metrics, utc_now, spans, revocations)
        self._queue = WorkQueue(observer=self._metrics, frame=self._journal.frame)
        self._obstacles = ObstacleWatches(watch_client, self._queue)
        self._lease = lease
        self._context = ProcessContext(
            client.behind(self._lease.is_certain),
            settings,
            platform_key,
            world,
            self._queue,
            # Lives of keys are counted by the clock that wrote when they began.
            clock=client.now,
            revocations=revocations,
            obstacles=self._obstacles,
        )
        self._scraper = ModelScraper(self._context)
        self._last_use = LastUsePoll(self._context, self._lease.is_certain)
        self._show_metrics(client, world, spans)
        self._arrivals = Arrivals(
            self._context.world, self._queue, routing.platform_key(settings.pod.namespace)
        )
        self._watches = NamespacedWatches(watch_client, self._arrivals)
        self._catalogue = Catalogue(settings.watch.catalogue_directory)
        self._sweep = VerifierSweep(self._context)
        self._stop = asyncio.Event()
        self._stop_kopf = asyncio.Event()

    def _show_metrics(self, client: KubeClient, world: World, spans: CountingSink | None) -> None:
        metrics = self._metrics
        metrics.watch(self._queue)
        metrics.compare_clocks(client)
        metrics.show_lead(lambda: self._readiness.is_leading)
        metrics.show(WorldCollector(world, lambda: self._readiness.is_leading))
        metrics.show(self._scraper)
        metrics.show(self._last_use.tally)
        show_spans(metrics.registry, families.SPANS, spans)

    async def run(self) -> None:
        """Run until SIGTERM or SIGINT.

        Raises:
            LeaseLostError: when another process took over.
            OSError: when the listener's address cannot be bound.
        """
        listener = self._settings.listener
        port = await self._listener.start(listener.bind_host, listener.metrics_port)
        log.info("listening", host=listener.bind_host, port=port)
        self._catch_signals()
        try:
            self._readiness.stand_by()
            if await self._unless_stopped(self._lease.acquire()):
                await self._lead()
        finally:
            await self._listener.close()

    async def _lead(self) -> None:
        """Hold the Lease and, as long as that lasts, see the world once and work."""
        self._readiness.prepare()
        self._journal.take_over(self._lease.led_before)
        # The first look at a large world takes longer than the Lease lasts.
        holding = asyncio.create_task(self._lease.hold(self._note_lease))
        async with contextlib.AsyncExitStack() as tenure:
            tenure.push_async_callback(self._end_tenure, holding)
            if await self._unless_stopped(self._prime(), holding):
                self._readiness.lead()
                await self._work(tenure, holding)

    async def _end_tenure(self, holding: asyncio.Task[None]) -> None:
        """Let the next candidate lead; nothing of ours writes any more."""
        await _end(holding)
        await self._watches.close()
        await self._obstacles.close()
        with contextlib.suppress(KubernetesError):
            # Without an API server there is nobody to tell; the Lease runs out by itself.
            await self._lease.release()

    async def _prime(self) -> None:
        """See the world once and ask for a pass over all of it."""
        context = self._context
        await refresh_patiently(context.client, context.world, self._settings.tenant_namespaces)
        for followed in watched.FOLLOWED:
            for namespace in self._settings.tenant_namespaces:
                self._watches.start(followed.kind, namespace)
        for kind in (kinds.MIDDLEWARE, kinds.JOB):
            self._watches.start(kind, self._settings.pod.namespace)
        self._watches.start(kinds.NAMESPACE, None)
        for onboarded in secret_namespaces(context):
            self._watches.start(kinds.SECRET, onboarded)
        await self._watches.synced(FIRST_LIST_SECONDS)
        self._queue.add(self._arrivals.platform)
        enqueue_catalogue(context, self._catalogue)
        for key in routing.all_parents(context.world):
            self._queue.add(key)
        log.info("primed", instances=len(context.world[kinds.LLM_INSTANCE]), keys=len(self._queue))

    async def _work(self, tenure: contextlib.AsyncExitStack, holding: asyncio.Task[None]) -> None:
        """Do what a leader does, until one part ends."""
        watch = self._settings.watch
        reconcilers = build_reconcilers(self._context, self._catalogue, self._sweep)
        passes = asyncio.create_task(self._queue.run(reconcilers, workers=watch.workers))
        others = [
            holding,
            asyncio.create_task(every(watch.relist_seconds, self._relist)),
            asyncio.create_task(every(watch.sweep_seconds, self._look_around)),
            asyncio.create_task(every(ASK_SECONDS, self._ask_fetches)),
        ]
        if self._settings.last_use.seconds:
            polls = every(self._settings.last_use.seconds, self._last_use.poll, at_once=True)
            others.append(asyncio.create_task(polls))
        if self._settings.model_metrics.seconds:
            rounds = every(self._settings.model_metrics.seconds, self._scraper.scrape, at_once=True)
            others.append(asyncio.create_task(rounds))
        events = asyncio.create_task(self._follow_events())
        stopped = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait(
            {passes, events, stopped, *others}, return_when=asyncio.FIRST_COMPLETED
        )
        await self._finish(passes, [*others, stopped])
        # kopf gives connections that others left open five seconds to end; the next leader need not wait.
        await tenure.aclose()
        self._stop_kopf.set()
        await asyncio.gather(events, return_exceptions=True)
        # One of its last events may have begun another watch.
        await self._watches.close()
        for task in done:
            task.result()

    async def _finish(self, passes: asyncio.Task[None], others: list[asyncio.Task[Any]]) -> None:
        """Let running passes finish, and end everything else that may write."""
        self._readiness.stand_by()
        log.info("stopping", waiting=len(self._queue))
        self._queue.stop()
        await asyncio.wait({passes}, timeout=FINISH_SECONDS)
        if passes.done():
            log.info("passes finished")
        else:
            # The next leader looks at every object anew and does what is missing.
            log.warning("passes cut off", after_seconds=FINISH_SECONDS)
        await _end(passes, *others)

    async def _follow_events(self) -> None:
        registry = build_registry(self._arrivals, self._watches)
        add_login(registry)
        ready = asyncio.Event()
        ours = asyncio.create_task(self._take_signals_back(ready))
        try:
            await kopf.operator(
                registry=registry,
                settings=build_settings(),
                standalone=True,
                clusterwide=True,
                ready_flag=ready,
                stop_flag=self._stop_kopf,
            )
        finally:
            ours.cancel()

    async def _take_signals_back(self, ready: asyncio.Event) -> None:
        """Keep kopf from stopping itself on a signal, before the passes have finished."""
        await ready.wait()
        self._catch_signals()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

    def stop(self) -> None:
        """Ask the process to leave, as a signal does."""
        self._stop.set()

    def _note_lease(self, certain: bool) -> None:  # noqa: FBT001 - the signature of a callback
        """Begin no pass while somebody else may lead."""
        if certain:
            self._queue.resume()
        else:
            self._queue.pause()

    async def _relist(self) -> None:
        await relist(self._context, self._arrivals, self._watches)

    async def _ask_fetches(self) -> None:
        await ask_fetches(self._context)

    async def _look_around(self) -> None:
        enqueue_catalogue(self._context, self._catalogue)
        await self._sweep.sweep()

    async def _unless_stopped(
        self, work: Coroutine[Any, Any, None], *others: asyncio.Task[None]
    ) -> bool:
        """Do the work and return True, or drop it and return False when asked to stop.

        Args:
            work: What is to be done.
            others: What must not end meanwhile: the work is dropped, and what ended it is raised.
        """
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({task, stopped, *others}, return_when=asyncio.FIRST_COMPLETED)
            for ended in (each for each in (*others, task) if each.done()):
                ended.result()
            return task.done()
        finally:
            await _end(task, stopped)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def lease_settings(settings: Settings) -> LeaseSettings:
    """Return which Lease operators of these settings want, and as whom."""
    identity = settings.pod.name or socket.gethostname()
    return LeaseSettings(settings.pod.namespace, LEASE_NAME, identity)
