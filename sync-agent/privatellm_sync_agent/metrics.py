"""Metrics: read from the agent's own state when they are asked for, so none can be forgotten or stale.

What is counted belongs to the queue of a published resource, so its series end with it.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm.telemetry.exposition import (
    counter_of,
    gauge_of,
    histogram_of,
    process_registry,
    show_spans,
)
from privatellm.telemetry.families import Family
from privatellm.telemetry.families import sync_agent as families
from privatellm.telemetry.tracing import CountingSink
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine.synchronizer import Synchronizer
from privatellm_sync_agent.objects.ownership import remote_identity


def _orphans(synchronizer: Synchronizer) -> int:
    world = synchronizer.world
    identities = [remote_identity(copy) for copy in world.copies]
    return sum(1 for one in identities if one is not None and world.find(one) is None)


_GAUGES: tuple[tuple[Family, Callable[[Synchronizer], float]], ...] = (
    (families.OBJECTS, lambda one: sum(len(e.primaries) for e in one.world.endpoints.values())),
    (families.COPIES, lambda one: len(one.world.copies)),
    (families.ORPHANS, _orphans),
    (families.QUEUE_DEPTH, lambda one: len(one.queue)),
    (families.QUEUE_OLDEST, lambda one: one.queue.oldest),
    (families.FAILING, lambda one: one.queue.failing),
    (families.RELISTS, lambda one: one.relists),
)
"""What is shown of each published resource."""


class AgentCollector(Collector):
    """Reads an agent's state."""

    def __init__(self, agent: Agent, is_leading: Callable[[], bool]) -> None:
        self._agent = agent
        self._is_leading = is_leading

    @override
    def collect(self) -> Iterable[Metric]:
        manager = self._agent.manager
        yield _single(families.PUBLISHED, len(self._agent.published))
        yield _single(families.ENDPOINTS, len(manager.urls))
        yield _single(families.LEADING, float(self._is_leading()))
        yield from self._per_resource()

    def _per_resource(self) -> Iterator[Metric]:
        synchronizers = self._agent.manager.synchronizers
        for family, read in _GAUGES:
            metric = gauge_of(family)
            for synchronizer in synchronizers:
                metric.add_metric([synchronizer.publication.name], read(synchronizer))
            yield metric
        passes, lag = counter_of(families.PASSES), histogram_of(families.LAG)
        for synchronizer in synchronizers:
            name, queue = synchronizer.publication.name, synchronizer.queue
            for result, count in queue.passes.items():
                passes.add_metric([name, result], count)
            lag.add_metric([name], queue.lag.buckets, queue.lag.sum)
        yield from (passes, lag)


def registry_of(
    agent: Agent, is_leading: Callable[[], bool], spans: CountingSink | None = None
) -> CollectorRegistry:
    """Return a registry with an agent's metrics and its process's.

    Args:
        agent: Whose.
        is_leading: Whether it may sync.
        spans: Where traces go; ``None`` when nobody wants them.
    """
    registry = process_registry()
    registry.register(AgentCollector(agent, is_leading))
    show_spans(registry, families.SPANS, spans)
    return registry


def _single(family: Family, value: float) -> Metric:
    metric = gauge_of(family)
    metric.add_metric([], value)
    return metric
