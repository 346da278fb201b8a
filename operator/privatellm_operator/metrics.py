"""What the operator measures about itself, in Prometheus' terms."""

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from privatellm.kube import KubeClient
from privatellm_operator.queue import Key, WorkQueue

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one process; an observer of passes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._passes = Counter(
            "private_llm_reconcile_total",
            "Passes by kind and result.",
            ("kind", "result"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "private_llm_reconcile_seconds",
            "Duration of passes.",
            ("kind",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._depth = Gauge(
            "private_llm_queue_depth", "Objects that wait for a pass.", registry=self.registry
        )
        self._leading = Gauge(
            "private_llm_leading", "1 while this process holds the Lease.", registry=self.registry
        )
        self._skew = Gauge(
            "private_llm_clock_skew_seconds",
            "How far our clock is ahead of the API server's; NaN before its first answer.",
            registry=self.registry,
        )
        self._skew.set(math.nan)

    def __call__(self, key: Key, result: str, seconds: float) -> None:
        """Count one pass."""
        self._passes.labels(key.kind.name, result).inc()
        self._durations.labels(key.kind.name).observe(seconds)

    def watch(self, queue: WorkQueue) -> None:
        """Read the queue's depth whenever somebody scrapes."""
        self._depth.set_function(lambda: float(len(queue)))

    def compare_clocks(self, client: KubeClient) -> None:
        """Read from the client by how much our clock is ahead whenever somebody scrapes."""

        def ahead() -> float:
            return math.nan if client.seconds_ahead is None else client.seconds_ahead

        self._skew.set_function(ahead)

    def lead(self, *, leading: bool) -> None:
        """Note whether this process does the work."""
        self._leading.set(float(leading))

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)
