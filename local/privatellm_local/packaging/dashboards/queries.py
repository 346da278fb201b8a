"""The queries that dashboards are written with, over metrics that exist.

A family knows its type, so a query that makes no sense of it (a rate of a gauge) is a mistake that is found
when the dashboard is generated. Each asks for the series of one release, or of one edge, which may stand
in a namespace of its own; queries that mix two releases cannot be written here.
"""

from collections.abc import Iterable
from typing import Final

from privatellm.telemetry.families import Family, FamilyType
from privatellm_local.packaging.dashboards.dashboard import RELEASE_NAMESPACE, Choice, Query

WINDOW: Final = "$__rate_interval"
"""Grafana's choice of a window that holds at least four scrapes."""

TRAEFIK_REQUESTS: Final = "traefik_entrypoint_requests_total"
TRAEFIK_SECONDS: Final = "traefik_entrypoint_request_duration_seconds_bucket"
TRAEFIK_CONNECTIONS: Final = "traefik_open_connections"
TRAEFIK_SERVICE_REQUESTS: Final = "traefik_service_requests_total"
TRAEFIK_SERVICE_SECONDS: Final = "traefik_service_request_duration_seconds_bucket"
TRAEFIK: Final = (
    TRAEFIK_REQUESTS,
    TRAEFIK_SECONDS,
    TRAEFIK_CONNECTIONS,
    TRAEFIK_SERVICE_REQUESTS,
    TRAEFIK_SERVICE_SECONDS,
)
"""The edge's own series, as Traefik 3.7 exposes them; a contract test asks a real one."""

_OF_RELEASE: Final = 'namespace="$namespace"'
_OF_EDGE: Final = 'namespace="$edge_namespace"'


def release(family: Family) -> Choice:
    """Return the variable that says whose series are shown.

    Args:
        family: What every release with such a part exposes.
    """
    return Choice(
        "namespace", family.name, "namespace", title="Release in", first=RELEASE_NAMESPACE
    )


EDGE_NAMESPACE: Final = Choice(
    "edge_namespace", TRAEFIK_CONNECTIONS, "namespace", title="Edge in", first=RELEASE_NAMESPACE
)
"""The variable that says whose edge is shown: the release's own, or the platform's in another namespace."""


def rate(family: Family, *by: str, where: str = "", legend: str = "") -> Query:
    """Return how much a counter grows a second."""
    _expect(family, FamilyType.COUNTER)
    return _rate_of(family.name, by, where, legend)


def foreign_rate(series: str, *by: str, where: str = "", legend: str = "") -> Query:
    """Return how much a counter of the edge grows a second."""
    return _rate_of(series, by, where, legend)


def foreign_summed(series: str, *by: str, legend: str = "") -> Query:
    """Return a gauge of the edge, added up over everything but some labels."""
    return Query(f"sum{_by(by)}({_selected(series, '')})", legend or _legend(by))


def quantile(share: float, family: Family, *by: str, where: str = "", legend: str = "") -> Query:
    """Return what a share of a histogram's values do not exceed."""
    _expect(family, FamilyType.HISTOGRAM)
    return foreign_quantile(share, f"{family.name}_bucket", *by, where=where, legend=legend)


def foreign_quantile(
    share: float, buckets: str, *by: str, where: str = "", legend: str = ""
) -> Query:
    """Return what a share of the values of a histogram of the edge do not exceed."""
    inner = f"sum by ({', '.join(('le', *by))}) (rate({_selected(buckets, where)}[{WINDOW}]))"
    named = legend or f"p{share * 100:g} {_legend(by)}".strip()
    return Query(f"histogram_quantile({share}, {inner})", named)


def summed(family: Family, *by: str, where: str = "", legend: str = "") -> Query:
    """Return a gauge, added up over everything but some labels."""
    _expect(family, FamilyType.GAUGE)
    return Query(f"sum{_by(by)}({_selected(family.name, where)})", legend or _legend(by))


def highest(family: Family, *by: str, where: str = "", legend: str = "") -> Query:
    """Return the highest value of a gauge; of objects, which only the leader shows, it is the value."""
    _expect(family, FamilyType.GAUGE)
    return Query(f"max{_by(by)}({_selected(family.name, where)})", legend or _legend(by))


def _rate_of(series: str, by: Iterable[str], where: str, legend: str) -> Query:
    labels = tuple(by)
    inner = f"rate({_selected(series, where)}[{WINDOW}])"
    return Query(f"sum{_by(labels)}({inner})", legend or _legend(labels))


def _by(labels: Iterable[str]) -> str:
    listed = ", ".join(labels)
    return f" by ({listed}) " if listed else ""


def _legend(labels: Iterable[str]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def _selected(series: str, where: str) -> str:
    whose = _OF_EDGE if series in TRAEFIK else _OF_RELEASE
    return f"{series}{{{', '.join(filter(None, (whose, where)))}}}"


def _expect(family: Family, wanted: FamilyType) -> None:
    if family.type is not wanted:
        raise ValueError(f"This query needs a {wanted}; {family.name} is a {family.type}.")
