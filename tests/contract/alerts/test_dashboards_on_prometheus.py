"""Every query of every dashboard draws something, says Prometheus' own engine, where there is something."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

import alerts_promtool
from alerts_everything import KNOWN, SLUG, everything, of_another_release
from alerts_promtool import Promtool, PromtoolError, gives, world
from alerts_series import SCRAPE_SECONDS, Series
from telemetry_queries import named_in

pytestmark = [pytest.mark.deep, pytest.mark.timeout(alerts_promtool.BUILD_SECONDS)]

Dashboard = dict[str, Any]

OF_GRAFANA = {"__rate_interval": f"{4 * SCRAPE_SECONDS}s"}
"""What Grafana itself fills in: at least four scrapes."""

SERIES_OF_CHOICES = re.compile(r"label_values\((.+), (\w+)\)")


def filled_in(expression: str, values: Mapping[str, str]) -> str:
    """Return an expression as Grafana sends it, with a value for each of its variables."""
    return re.sub(r"\$(\w+)", lambda found: values[found[1]], expression)


def chosen(dashboard: Dashboard) -> dict[str, str]:
    """Return the value that a dashboard's variables take in the order in which they follow each other."""
    values = dict(OF_GRAFANA)
    for choice in queried(dashboard):
        (label,) = re.findall(r", (\w+)\)$", choice["query"])
        part = re.search(choice["regex"].strip("/") or ".+", KNOWN[label])
        assert part is not None
        values[choice["name"]] = part[part.re.groups]
    return values


def queried(dashboard: Dashboard) -> Iterator[Dashboard]:
    """Yield the variables whose values come out of Prometheus."""
    return (one for one in dashboard["templating"]["list"] if one["type"] == "query")


def pictured(dashboard: Dashboard) -> Iterator[str]:
    """Yield what a dashboard asks for its pictures."""
    values = chosen(dashboard)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield filled_in(target["expr"], values)


def queries(dashboard: Dashboard) -> Iterator[str]:
    """Yield what a dashboard asks: for its pictures, and for the values of its variables."""
    yield from pictured(dashboard)
    values = chosen(dashboard)
    for choice in queried(dashboard):
        found = SERIES_OF_CHOICES.fullmatch(choice["query"])
        assert found is not None
        yield f"group by ({found[2]}) ({filled_in(found[1], values)})"


def draws(expression: str) -> Dashboard:
    """Expect that a query gives one value at least, and one that is a number."""
    return gives(f"count(({expression}) > -Inf) > bool 0", [{"labels": "{}", "value": 1}])


@pytest.mark.parametrize("name", ["edge", "instance", "overview", "sync"])
def test_each_query_of_a_dashboard_draws_something(
    promtool: Promtool, dashboards: dict[str, Dashboard], name: str
) -> None:
    """A query that does not parse, or that joins what does not fit, draws an empty picture for ever."""
    asked = [*queries(dashboards[name])]

    assert asked
    drawn = world(name, everything(), promql_expr_test=[draws(one) for one in asked])
    promtool.test([], [drawn])


def alone(series: Series) -> Series:
    """Return the same under a name that no other release has."""
    return replace(series, name=f"alone_{series.name}")


def two_releases() -> Iterator[Series]:
    """Yield the series of a release, of another one beside it, and of the first as if it were alone."""
    for series in everything():
        yield series
        yield alone(series)
    yield from of_another_release("another-release")


def is_of_one_release(expression: str) -> Dashboard:
    """Expect that a query gives what it would give if there were no other release."""
    names = "|".join(named_in(expression).metrics)
    undisturbed = re.sub(rf"\b({names})\b", r"alone_\1", expression)
    same = f"count(({expression}) == ({undisturbed}))"
    given = [{"labels": "{}", "value": 1}]
    return gives(f"{same} == bool count({undisturbed}) and {same} == count({expression})", given)


@pytest.mark.parametrize("name", ["edge", "instance", "overview", "sync"])
def test_no_query_mixes_two_releases(
    promtool: Promtool, dashboards: dict[str, Dashboard], name: str
) -> None:
    """Two leaders on the page of a release that has one would be an alarm about nothing."""
    asked = [*pictured(dashboards[name])]

    assert asked
    mixed = world(name, two_releases(), promql_expr_test=[is_of_one_release(one) for one in asked])
    promtool.test([], [mixed])


@pytest.mark.parametrize(
    "expression",
    [
        "sum(private_llm_leading)",
        "max by (resource) (sync_agent_objects)",
        "sum by (code) (rate(traefik_entrypoint_requests_total[2m]))",
        "histogram_quantile(0.5, sum by (le) (rate(private_llm_auth_decision_seconds_bucket[2m])))",
        "sum(private_llm_instance_ready_replicas) / sum(private_llm_instance_wanted_replicas)",
    ],
)
def test_a_query_that_mixes_two_releases_is_found(promtool: Promtool, expression: str) -> None:
    """A sum, the higher one of two, a rate, a quantile and a quotient."""
    mixed = world("mixed", two_releases(), promql_expr_test=[is_of_one_release(expression)])

    with pytest.raises(PromtoolError):
        promtool.test([], [mixed])


def test_no_dashboard_is_left_out(dashboards: dict[str, Dashboard]) -> None:
    """Whatever is added."""
    assert dashboards.keys() == {"edge", "instance", "overview", "sync"}


@pytest.mark.parametrize(
    "expression",
    [
        "sum by (pod (private_llm_leading)",
        "rate(private_llm_reconcile_total)",
        "private_llm_leading * private_llm_auth_worker_up",
        'private_llm_instance_info{llm_namespace="nobody"}',
    ],
)
def test_a_query_that_draws_nothing_is_found(promtool: Promtool, expression: str) -> None:
    """It does not parse, is of another type, joins labels that differ, or asks for what is not there."""
    drawn = world("nothing", everything(), promql_expr_test=[draws(expression)])

    with pytest.raises(PromtoolError):
        promtool.test([], [drawn])


def test_the_port_of_an_instance_is_chosen_from_its_slug(dashboards: dict[str, Dashboard]) -> None:
    """As Grafana takes a part of a label by a regular expression."""
    values = chosen(dashboards["instance"])

    assert values["llm_port"] == SLUG[:12]
