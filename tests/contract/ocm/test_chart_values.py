"""The values of the delivery's chart: whatever fits the schema renders, and none is there for nothing."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from chart_checks import CLUSTER_SCOPED, check
from chart_helm import REPOSITORY, Helm
from chart_values import leaves, nested, other_value, schema_of, values_of
from privatellm_local.packaging.listing import Entry
from privatellm_local.packaging.ocm_values import OCM

CHART = REPOSITORY / OCM.directory
SCHEMA = schema_of(CHART)
OTHERS: dict[tuple[str, ...], Any] = {
    ("component", "semver"): ">=0.1.0 <1",
    ("component", "interval"): "3m",
    ("repository", "interval"): "3m",
}


@pytest.mark.parametrize("leaf", tuple(leaves(OCM)), ids=lambda leaf: ".".join(leaf.path))
def test_a_value_changes_what_is_rendered(helm: Helm, leaf: Entry) -> None:
    """With another value than the default the objects differ."""
    other = nested(leaf.path, other_value(leaf, SCHEMA, OTHERS))

    assert helm.template(chart=CHART) != helm.template(other, chart=CHART)


@pytest.mark.deep
@given(values=values_of(SCHEMA, whole=SCHEMA))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_of_the_schema_render(helm: Helm, values: dict[str, Any]) -> None:
    """Quotes, braces, markup and 4-byte characters included."""
    objects = helm.template(json.loads(json.dumps(values)), chart=CHART)

    check(objects, {*CLUSTER_SCOPED, "Deployer"})
