"""Figures of objects, read off the world at the moment of a scrape.

Nothing is remembered between two scrapes, so a series ends with its object. Who does not lead has no
picture of the cluster and shows nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm.api.api_token_request import TokenPhase
from privatellm.api.llm_instance import DEFAULT_MODEL, InstancePhase
from privatellm.kube import Manifest, kinds
from privatellm.names import slug_of
from privatellm.telemetry.exposition import gauge_of
from privatellm.telemetry.families import Family
from privatellm.telemetry.families import operator as families
from privatellm_operator.world.cache import World


class WorldCollector(Collector):
    """Shows what instances and token requests there are, and how they are."""

    def __init__(self, world: World, is_leading: Callable[[], bool]) -> None:
        self._world = world
        self._is_leading = is_leading

    @override
    def collect(self) -> Iterable[Metric]:
        if not self._is_leading():
            return
        instances = self._world[kinds.LLM_INSTANCE].all()
        requests = self._world[kinds.API_TOKEN_REQUEST].all()
        yield _by_phase(families.INSTANCES, instances, InstancePhase, InstancePhase.PENDING)
        yield _by_phase(families.TOKEN_REQUESTS, requests, TokenPhase, TokenPhase.PENDING)
        yield from _of_each(instances)


def _by_phase(
    family: Family,
    objects: Iterable[Manifest],
    phases: type[InstancePhase] | type[TokenPhase],
    first: str,
) -> Metric:
    """Count objects; one without a status is in the first phase."""
    counts = Counter(_phase(manifest, first) for manifest in objects)
    metric = gauge_of(family)
    for phase in phases:
        metric.add_metric([phase.value], counts[phase.value])
    return metric


def _phase(manifest: Manifest, first: str) -> str:
    return (manifest.get("status") or {}).get("phase") or first


def _of_each(instances: Iterable[Manifest]) -> Iterator[Metric]:
    info = gauge_of(families.INSTANCE_INFO)
    wanted, ready = gauge_of(families.WANTED_REPLICAS), gauge_of(families.READY_REPLICAS)
    for manifest in instances:
        metadata = manifest["metadata"]
        spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
        who = [metadata["namespace"], metadata["name"]]
        model, slug = spec.get("model", DEFAULT_MODEL), slug_of(metadata["uid"])
        info.add_metric([*who, slug, model, _phase(manifest, InstancePhase.PENDING)], 1)
        wanted.add_metric(who, spec.get("replicas", 1))
        ready.add_metric(who, status.get("readyReplicas", 0))
    yield from (info, wanted, ready)
