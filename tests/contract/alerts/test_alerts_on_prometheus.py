"""Alerts fire when they must, and only then: Prometheus' own engine says so, over what the parts expose."""

from typing import Any

import pytest

import alerts_promtool
from alerts_cases import CASES, Case
from alerts_promtool import Promtool, firing, told, world
from alerts_series import SCRAPE_SECONDS
from alerts_well import WELL, over

pytestmark = [pytest.mark.deep, pytest.mark.timeout(alerts_promtool.BUILD_SECONDS)]

Rule = dict[str, Any]

ONE_LOOK = SCRAPE_SECONDS / 60
"""Minutes between two evaluations."""


def alone(rule: Rule) -> list[Rule]:
    """Return a group of one rule: the others would be evaluated at each of 300 moments for nothing."""
    return [{"name": rule["alert"], "rules": [rule]}]


def messages(rule: Rule, case: Case) -> list[Rule]:
    """Return what people are told."""
    return [
        {"exp_labels": rule["labels"] | about, "exp_annotations": rule["annotations"]}
        for about in case.about
    ]


def test_prometheus_takes_every_rule_of_the_charts(
    promtool: Promtool, groups: list[dict[str, Any]]
) -> None:
    """Without a doubt about any."""
    promtool.check(groups)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_alert_fires_when_there_is_something_to_tell(
    promtool: Promtool, rules: dict[str, Rule], case: Case
) -> None:
    """At the moment that the case says, not one look before, and with all that people need."""
    rule = rules[case.alert]
    expected = messages(rule, case)
    troubled = world(
        case.what,
        over(WELL, case.trouble),
        alert_rule_test=[
            firing(case.alert, case.told_after - ONE_LOOK, []),
            firing(case.alert, case.told_after, expected),
        ],
        promql_expr_test=[told(case.alert, len(expected))],
    )

    promtool.test(alone(rule), [troubled])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_alert_is_silent_where_it_is_nearly_so(
    promtool: Promtool, rules: dict[str, Rule], case: Case
) -> None:
    """At every moment; and a release says nothing of the trouble of another under the same Prometheus."""
    silence = [told(case.alert, 0)]
    others = [one.elsewhere("another-release") for one in over(WELL, case.trouble)]

    promtool.test(
        alone(rules[case.alert]),
        [
            world("nearly", over(WELL, case.near), promql_expr_test=silence),
            world("another's", over(WELL, others), promql_expr_test=silence),
        ],
    )


def test_nobody_is_told_anything_while_all_is_well(
    promtool: Promtool, groups: list[dict[str, Any]], rules: dict[str, Rule]
) -> None:
    """Not even shortly."""
    silence = [told(alert, 0) for alert in rules]

    promtool.test(groups, [world("all is well", WELL, promql_expr_test=silence)])
