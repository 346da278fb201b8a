"""Dashboards draw metrics that our programs or the edge expose."""

import json
import re
from typing import Any

import pytest

from privatellm.names import service_port_name, slug_of
from privatellm.telemetry.families import PARTS
from privatellm.telemetry.families import operator as families
from privatellm_local.packaging.dashboards import DASHBOARDS, Dashboard
from privatellm_local.packaging.dashboards.queries import (
    TRAEFIK,
    TRAEFIK_SERVICE_REQUESTS,
    quantile,
    rate,
)
from telemetry_parts import EXPOSITIONS, samples
from telemetry_queries import named_in

EXPOSED = {sample.name for expose in EXPOSITIONS.values() for sample in samples(expose())}
LABELS = {
    series: set(family.label_names)
    for part in PARTS
    for family in part.families
    for series in family.series
}
QUERIES = [(one.name, query.expression) for one in DASHBOARDS for query in one.queries]


def imported(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    read: dict[str, Any] = json.loads(dashboard.to_json())
    return read


@pytest.mark.parametrize(("name", "expression"), QUERIES, ids=str)
def test_a_query_names_what_some_program_exposes(name: str, expression: str) -> None:
    """Metrics and labels; Traefik's are checked against a real Traefik by a contract test."""
    named = named_in(expression)

    assert named.metrics
    assert named.metrics <= EXPOSED | set(TRAEFIK)
    for metric in named.metrics - set(TRAEFIK):
        assert named.labels <= LABELS[metric] | {"namespace", "pod", "le"}, metric


@pytest.mark.parametrize(("name", "expression"), QUERIES, ids=str)
def test_a_query_asks_for_one_release_and_one_edge(name: str, expression: str) -> None:
    """A cluster may have several; a contract test sees that none changes what another one's page shows."""
    for metric in named_in(expression).metrics:
        whose = "edge_namespace" if metric in TRAEFIK else "namespace"
        asked = re.findall(rf"\b{metric}\b(.?[^,}}]*)", expression)
        assert set(asked) == {f'{{namespace="${whose}"'}, name


def test_every_metric_of_ours_is_drawn_or_has_an_alert() -> None:
    """A metric that nobody looks at is a cost without a use."""
    drawn = {metric for _, expression in QUERIES for metric in named_in(expression).metrics}

    unseen = [
        family.name
        for part in PARTS
        for family in part.families
        if not drawn.intersection(family.series)
    ]

    assert unseen == []


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.name)
def test_a_variable_takes_its_values_from_a_metric_that_exists(dashboard: Dashboard) -> None:
    """And every variable that a query uses is one that can be chosen."""
    used = {
        name
        for query in dashboard.queries
        for name in re.findall(r"\$(\w+)", query.expression)
        if not name.startswith("__")
    }

    assert used == {choice.name for choice in dashboard.choices}
    for choice in dashboard.choices:
        (metric,) = named_in(choice.series).metrics
        assert choice.label in LABELS.get(metric, set()) | {"namespace"}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.name)
def test_panels_have_places_of_their_own_and_sentences(dashboard: Dashboard) -> None:
    """No two overlap, and none leaves the page."""
    panels = imported(dashboard)["panels"]
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["w"])
        for y in range(place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(p["description"].endswith(".") for p in panels if p["type"] != "row")


def test_dashboards_have_addresses_of_their_own() -> None:
    """Grafana overwrites one by another of the same address."""
    assert len({imported(one)["uid"] for one in DASHBOARDS}) == len(DASHBOARDS)


def test_a_query_that_makes_no_sense_of_its_metric_is_refused() -> None:
    """When the dashboard is generated, not when somebody looks at it."""
    with pytest.raises(ValueError, match="needs a counter"):
        rate(families.QUEUE_DEPTH)
    with pytest.raises(ValueError, match="needs a histogram"):
        quantile(0.5, families.QUEUE_DEPTH)


def test_an_instance_is_found_at_the_edge_by_its_port_alone() -> None:
    """Namespace ``a`` and instance ``b-c`` join to the same name as ``a-b`` and ``c``."""
    slug = slug_of("11111111-2222-3333-4444-555555555555")
    (dashboard,) = (one for one in DASHBOARDS if one.name == "instance")
    (port,) = (choice for choice in dashboard.choices if choice.name == "llm_port")
    part = re.match(port.part, slug)
    assert part is not None

    edge = [q.expression for q in dashboard.queries if TRAEFIK_SERVICE_REQUESTS in q.expression]
    assert edge
    for expression in edge:
        wanted = re.search(r'service=~"([^"]+)"', expression)
        assert wanted is not None
        pattern = wanted[1].replace("$llm_port", part[1])
        assert re.fullmatch(pattern, f"a-b-c-llama-{service_port_name(slug)}@kubernetes")
        assert not re.fullmatch(pattern, "a-b-c-llama-e-222222222222@kubernetes")
