"""A world in which every metric of every part has a series, and Traefik's too: all that dashboards draw."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from alerts_series import (
    Course,
    Series,
    Target,
    authserver_pod,
    counting,
    operator_pod,
    steady,
    sync_agent_pod,
)
from chart_helm import NAMESPACE
from privatellm.names import service_port_name, slug_of
from privatellm.telemetry.families import Family
from privatellm.telemetry.families.family import FamilyType, families_of
from privatellm_local.packaging.dashboards.queries import TRAEFIK, TRAEFIK_CONNECTIONS

SLUG: Final = slug_of("11111111-2222-3333-4444-555555555555")
KNOWN: Final = {
    "namespace": NAMESPACE,
    "llm_namespace": "acme",
    "llm_instance": "chat",
    "slug": SLUG,
}
"""Labels by which a dashboard's variables are chosen; of others any value will do."""

OF_TRAEFIK: Final = {
    "namespace": NAMESPACE,
    "entrypoint": "websecure",
    "code": "200",
    "service": f"acme-chat-llama-{service_port_name(SLUG)}@kubernetes",
}


def everything() -> Iterator[Series]:
    """Yield a series of each metric, of buckets several."""
    for pod in (
        operator_pod(NAMESPACE, 1),
        authserver_pod(NAMESPACE, 1),
        sync_agent_pod(NAMESPACE, 1),
    ):
        for family in families_of(pod.families):
            yield from _series_of(pod, family)
    for name in TRAEFIK:
        course = steady(1) if name == TRAEFIK_CONNECTIONS else counting(60)
        for bucket in ("0.3", "+Inf") if name.endswith("_bucket") else ("",):
            # As everywhere in Prometheus, a label without a value is no label.
            yield Series(name, tuple((OF_TRAEFIK | {"le": bucket}).items()), course)


def of_another_release(namespace: str) -> Iterator[Series]:
    """Yield the same series of a release in another namespace, each of values that no other one has.

    What it observes is beyond every bucket, so that no quantile stays what it is where both are mixed.
    """
    for number, series in enumerate(everything(), start=3):
        is_within = dict(series.labels).get("le", "") not in {"", "+Inf"}
        course = steady(0) if is_within else _times(number, series.course)
        yield replace(series.elsewhere(namespace), course=course)


def _times(factor: int, course: Course) -> Course:
    return lambda minute: factor * (course(minute) or 0)


def _series_of(pod: Target, family: Family) -> Iterator[Series]:
    labels = {name: KNOWN.get(name, "any") for name in family.label_names}
    match family.type:
        case FamilyType.HISTOGRAM:
            yield from pod.observes(family, {family.buckets[0]: counting(60)}, **labels)
        case FamilyType.COUNTER:
            yield pod.exposes(family, counting(60), **labels)
        case FamilyType.GAUGE:
            yield pod.exposes(family, steady(1), **labels)
