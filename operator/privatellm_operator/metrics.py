"""What the operator measures about itself and its objects, in Prometheus' terms.

What happens is counted here; how objects are is read off the world when somebody scrapes
(:mod:`privatellm_operator.observing.figures`), and what model servers say about themselves is kept by who
asks them (:mod:`privatellm_operator.observing.scraping`).
"""

import asyncio
import math
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm.kube import KubeClient
from privatellm.telemetry.exposition import counter_in, gauge_in, histogram_in, process_registry
from privatellm.telemetry.families import operator as families
from privatellm_operator.observing.fetched import EndedFetch, FetchResult
from privatellm_operator.queue import Key, WorkQueue


class Metrics:
    """Counters of one process; an observer of passes."""

    def __init__(self) -> None:
        self.registry = process_registry()
        self._passes = counter_in(self.registry, families.PASSES)
        self._durations = histogram_in(self.registry, families.PASS_SECONDS)
        self._depth = gauge_in(self.registry, families.QUEUE_DEPTH)
        self._oldest = gauge_in(self.registry, families.QUEUE_OLDEST)
        self._leading = gauge_in(self.registry, families.LEADING)
        self._skew = gauge_in(self.registry, families.CLOCK_SKEW)
        self._skew.set(math.nan)
        self._time_to_ready = histogram_in(self.registry, families.TIME_TO_READY)
        self._fetches = counter_in(self.registry, families.FETCHES)
        self._fetch_bytes = counter_in(self.registry, families.FETCH_BYTES)
        self._fetch_seconds = histogram_in(self.registry, families.FETCH_SECONDS)
        self._revocation_lag = histogram_in(self.registry, families.REVOCATION_LAG)
        for result in FetchResult:
            self._fetches.labels(result.value)

    def __call__(self, key: Key, result: str, seconds: float) -> None:
        """Count one pass."""
        self._passes.labels(key.kind.name, result).inc()
        self._durations.labels(key.kind.name).observe(seconds)

    def watch(self, queue: WorkQueue) -> None:
        """Read how much waits in the queue, and how long, whenever somebody scrapes."""
        self._depth.set_function(lambda: float(len(queue)))
        self._oldest.set_function(lambda: queue.oldest)

    def compare_clocks(self, client: KubeClient) -> None:
        """Read from the client by how much our clock is ahead whenever somebody scrapes."""

        def ahead() -> float:
            return math.nan if client.seconds_ahead is None else client.seconds_ahead

        self._skew.set_function(ahead)

    def show(self, collector: Collector) -> None:
        """Let a collector speak at each scrape."""
        self.registry.register(collector)

    def show_lead(self, is_leading: Callable[[], bool]) -> None:
        """Ask whenever somebody scrapes whether this process does the work."""
        self._leading.set_function(lambda: float(is_leading()))

    def became_ready(self, occasion: str, seconds: float) -> None:
        """Note how long an order took, by what it was: ``created`` or ``changed``."""
        self._time_to_ready.labels(occasion).observe(seconds)

    def fetch_ended(self, fetch: EndedFetch) -> None:
        """Count a fetch of an instance's pod."""
        self._fetches.labels(fetch.result.value).inc()
        if fetch.result is FetchResult.FETCHED:
            self._fetch_bytes.inc(fetch.size_bytes)
            self._fetch_seconds.observe(fetch.seconds)

    def revoked(self, seconds: float) -> None:
        """Note how long one pod of the ForwardAuth service let a key live after its end."""
        self._revocation_lag.observe(seconds)

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)

    async def text_in_peace(self) -> bytes:
        """Return the exposition format, written by another thread: with thousands of objects it is long.

        What is written is read here before, where nothing changes meanwhile.
        """
        return await asyncio.to_thread(generate_latest, _Read(tuple(self.registry.collect())))


class _Read(CollectorRegistry):
    """What all collectors said at one moment."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        super().__init__()
        self._metrics = metrics

    @override
    def collect(self) -> Iterable[Metric]:
        return self._metrics
