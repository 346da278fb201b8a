"""The values of the charts for kcp: each has a sentence, a type and a default; others are refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from privatellm.catalogue import default_directory
from privatellm_local.packaging.chart import Chart
from privatellm_local.packaging.listing import entries
from privatellm_local.packaging.pm_integration_values import (
    PM_INTEGRATION,
    PmIntegrationValues,
    default_models,
)
from privatellm_local.packaging.reference import property_at, reference_page
from privatellm_local.packaging.schema import values_schema
from privatellm_local.packaging.sync_agent_values import SYNC_AGENT, SyncAgentValues
from privatellm_local.packaging.values_file import values_file

ROOT = Path(__file__).parents[3]
CHARTS = pytest.mark.parametrize("chart", [SYNC_AGENT, PM_INTEGRATION], ids=lambda one: one.name)
NULLABLE = {"replicas", "topologySpreadConstraints"}
"""What may be unset: somebody else decides then."""


@CHARTS
def test_the_file_of_values_holds_the_defaults(chart: Chart) -> None:
    """YAML and types say the same."""
    written = yaml.safe_load(values_file(chart))

    assert chart.values.model_validate(written) == chart.values()
    assert written == chart.values().model_dump(mode="json", by_alias=True)


@CHARTS
def test_the_reference_page_lists_every_value_with_a_sentence(chart: Chart) -> None:
    """Once, and it says which chart it is about."""
    page = reference_page(chart)

    assert f"# Values of the chart `{chart.name}`" in page
    for entry in entries(chart):
        for leaf in entry.leaves:
            assert page.count(f"| `{'.'.join(leaf.path)}` |") == 1
            assert leaf.text.endswith(".")


@CHARTS
def test_an_unknown_value_is_refused(chart: Chart) -> None:
    """Everywhere but among the globals, which belong to all charts of an umbrella."""
    schema = values_schema(chart)
    for name, group in (("", schema), *schema["$defs"].items()):
        assert group["additionalProperties"] is name.endswith("Globals"), name


@CHARTS
def test_a_default_cannot_be_taken_away_unless_null_has_a_meaning(chart: Chart) -> None:
    """`null` makes Helm drop a default, and templates would stumble."""
    schema = values_schema(chart)
    for entry in entries(chart):
        for leaf in entry.leaves:
            parent, name = property_at(schema, leaf.path[:-1]), leaf.path[-1]
            assert (name in parent["required"]) is (name not in NULLABLE), leaf.path


@CHARTS
def test_the_chart_has_the_version_of_the_distribution(chart: Chart) -> None:
    """There is one version."""
    about = yaml.safe_load((ROOT / chart.directory / "Chart.yaml").read_text())
    operator = yaml.safe_load((ROOT / "charts/private-llm-operator/Chart.yaml").read_text())

    assert about["name"] == chart.name
    assert (about["version"], about["appVersion"]) == (operator["version"], operator["appVersion"])


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (SyncAgentValues, {"kcp": {"kubeconfigSecret": {"name": ""}}}),
        (SyncAgentValues, {"agentName": "-agent"}),
        (SyncAgentValues, {"serviceCluster": {"hostOverride": "10.0.0.1"}}),
        (SyncAgentValues, {"publishedResources": {"selector": "a\nb"}}),
        (SyncAgentValues, {"rbac": {"furtherRules": [{"apiGroups": [""], "resources": []}]}}),
        (PmIntegrationValues, {"content": {"path": "/a b"}}),
        (PmIntegrationValues, {"content": {"keyLifetimes": [""]}}),
        (PmIntegrationValues, {"content": {"replicaChoices": [-1]}}),
        (PmIntegrationValues, {"content": {"title": "two\nlines"}}),
        (PmIntegrationValues, {"provider": {"links": [{"displayName": "x", "url": "ftp://a"}]}}),
        (PmIntegrationValues, {"provider": {"icon": {"light": {"data": "<svg>"}}}}),
        (PmIntegrationValues, {"bind": {"groups": [""]}}),
    ],
    ids=str,
)
def test_a_value_that_cannot_work_is_refused(values: type[Any], wrong: dict[str, Any]) -> None:
    """Before anything is rendered."""
    with pytest.raises(ValidationError):
        values.model_validate(wrong)


def test_the_inline_form_offers_the_models_that_come_with_the_operator() -> None:
    """By their names in the catalogue."""
    shipped = [yaml.safe_load(path.read_text()) for path in default_directory().glob("*.yaml")]

    assert set(default_models()) == {model["metadata"]["name"] for model in shipped}
