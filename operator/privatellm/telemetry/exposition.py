"""From a declared metric to prometheus-client's objects.

Two ways lead to a scrape. Events are counted in metrics that live in a registry; states are read by a
collector at the moment of the scrape, so that a series ends with what it is about. Only programs that serve
``/metrics`` import this.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm.telemetry.families.family import Family
from privatellm.telemetry.tracing import CountingSink, SpanResult


def process_registry() -> CollectorRegistry:
    """Return a registry that shows what its process needs: memory, processor, descriptors, Python's own."""
    # The library has this switch for a whole process alone. When counting began is told by the start of the
    # process; a series for each counter that says so again is noise.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def counter_in(registry: CollectorRegistry, family: Family) -> Counter:
    """Return a counter of a registry."""
    return Counter(family.name, family.text, family.label_names, registry=registry)


def gauge_in(registry: CollectorRegistry, family: Family) -> Gauge:
    """Return a gauge of a registry."""
    return Gauge(family.name, family.text, family.label_names, registry=registry)


def histogram_in(registry: CollectorRegistry, family: Family) -> Histogram:
    """Return a histogram of a registry."""
    return Histogram(
        family.name, family.text, family.label_names, registry=registry, buckets=family.buckets
    )


def counter_of(family: Family) -> CounterMetricFamily:
    """Return a counter that a collector fills."""
    return CounterMetricFamily(family.name, family.text, labels=family.label_names)


def gauge_of(family: Family) -> GaugeMetricFamily:
    """Return a gauge that a collector fills."""
    return GaugeMetricFamily(family.name, family.text, labels=family.label_names)


def histogram_of(family: Family) -> HistogramMetricFamily:
    """Return a histogram that a collector fills."""
    return HistogramMetricFamily(family.name, family.text, labels=family.label_names)


class SpanCollector(Collector):
    """Shows what became of the spans of a process that sends traces.

    A process that sends none has no such series, rather than zeros about what it does not do; so they tell
    which pods send traces as well. Where they are, each result is there from the start.
    """

    def __init__(self, family: Family, counts: Mapping[SpanResult, int]) -> None:
        """Show counts.

        Args:
            family: A counter with the result as its label.
            counts: What is counted; read at each scrape.
        """
        self._family = family
        self._counts = counts

    @override
    def collect(self) -> Iterable[Metric]:
        spans = counter_of(self._family)
        for result, count in self._counts.items():
            spans.add_metric([result.value], count)
        yield spans


def show_spans(registry: CollectorRegistry, family: Family, spans: CountingSink | None) -> None:
    """Let a registry show what becomes of the spans of its process, if that sends any."""
    if spans is not None:
        registry.register(SpanCollector(family, spans.counts))


__all__ = [
    "Metric",
    "SpanCollector",
    "counter_in",
    "counter_of",
    "gauge_in",
    "gauge_of",
    "histogram_in",
    "histogram_of",
    "process_registry",
    "show_spans",
]
