"""Metrics: read from the agent's own state when they are asked for, so none can be forgotten or stale."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine.synchronizer import Synchronizer
from privatellm_sync_agent.objects.ownership import remote_identity

_PER_RESOURCE: tuple[tuple[str, str], ...] = (
    ("sync_agent_objects", "Objects of the workspaces that are in sight."),
    ("sync_agent_copies", "Copies in the service cluster."),
    ("sync_agent_orphans", "Copies whose object is out of sight; never deleted for that."),
    ("sync_agent_queue_depth", "Objects that wait for a pass."),
    ("sync_agent_queue_oldest_seconds", "How long the longest waiting object has waited."),
    ("sync_agent_failing_objects", "Objects whose last pass failed."),
    ("sync_agent_relists", "Lists since the start: one for each watch, and one after each break."),
)


class AgentCollector(Collector):
    """Reads an agent's state."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @override
    def collect(self) -> Iterable[Metric]:
        published = GaugeMetricFamily(
            "sync_agent_published_resource", "PublishedResources that are published."
        )
        published.add_metric([], len(self._agent.published))
        yield published
        endpoints = GaugeMetricFamily("sync_agent_endpoints", "Endpoints that are followed.")
        endpoints.add_metric([], len(self._agent.manager.urls))
        yield endpoints
        yield from self._per_resource()

    def _per_resource(self) -> Iterator[Metric]:
        families = [
            GaugeMetricFamily(name, text, labels=["resource"]) for name, text in _PER_RESOURCE
        ]
        for synchronizer in self._agent.manager.synchronizers:
            name = synchronizer.publication.name
            for family, value in zip(families, _values(synchronizer), strict=True):
                family.add_metric([name], value)
        yield from families


def registry_of(agent: Agent) -> CollectorRegistry:
    """Return a registry with an agent's metrics."""
    registry = CollectorRegistry()
    registry.register(AgentCollector(agent))
    return registry


def _values(synchronizer: Synchronizer) -> tuple[float, ...]:
    world, queue = synchronizer.world, synchronizer.queue
    identities = [remote_identity(copy) for copy in world.copies]
    orphans = sum(1 for one in identities if one is not None and world.find(one) is None)
    return (
        sum(len(endpoint.primaries) for endpoint in world.endpoints.values()),
        len(world.copies),
        orphans,
        len(queue),
        queue.oldest,
        queue.failing,
        synchronizer.relists,
    )
