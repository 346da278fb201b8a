"""The graph for kro and the component speak of the same resources and the same values."""

import re
from pathlib import Path
from typing import Any

import yaml

from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import (
    IMAGES,
    OPERATOR_CHART,
    Release,
    constructor,
)
from privatellm_local.packaging.values import Values

ROOT = Path(__file__).parents[3]
GRAPH = yaml.safe_load((ROOT / "ocm" / "rgd.yaml").read_text())["spec"]
(COMPONENT,) = constructor(packaged_charts(ROOT), Release("0.1.0"))["components"]


def resolved() -> dict[str, str]:
    """Return which resource of the component each OCM Resource of the graph resolves, by its id."""
    return {
        node["id"]: node["template"]["spec"]["resource"]["byReference"]["resource"]["name"]
        for node in GRAPH["resources"]
        if node["template"]["kind"] == "Resource"
    }


def values_expression() -> str:
    """Return the expression that makes the release's values."""
    expression: str = GRAPH["resources"][-1]["template"]["spec"]["values"]
    return expression


def test_the_graph_asks_for_nothing_that_the_component_lacks() -> None:
    """Kro could not tell: names in another object are just texts to it."""
    assert set(resolved().values()) <= {resource["name"] for resource in COMPONENT["resources"]}


def test_every_image_of_the_chart_is_localised() -> None:
    """One that were not would be pulled from where a disconnected site cannot reach."""
    names = {image.name for image in IMAGES if image.chart == OPERATOR_CHART}

    assert names | {OPERATOR_CHART} == set(resolved().values())


def test_what_runs_is_pinned_by_the_signed_digest() -> None:
    """After a transfer references end in a tag, which anybody with the registry's password can move."""
    for node in GRAPH["resources"]:
        for fields in node["template"]["spec"].get("additionalStatusFields", {}).values():
            assert fields["digest"] == '"sha256:" + resource.digest.value'


def test_each_image_goes_to_the_value_that_the_component_says() -> None:
    """The label of the component and the expression of the graph agree."""
    by_name = {image.name: image.path for image in IMAGES}
    for node, name in resolved().items():
        if name == OPERATOR_CHART:
            continue
        place = by_name[name].split(".")
        nested = r".*?".join(rf'"{part}": ?\{{?' for part in place[:-1])
        pattern = rf'{nested}[^{{}}]*"image": {node}\.status\.additional\.image'
        assert re.search(pattern, values_expression(), re.DOTALL), name


def test_the_values_of_the_graph_exist_in_the_chart() -> None:
    """Unknown values are refused by the chart, and an installation would never come up."""
    aliases = {field.alias or name for name, field in Values.model_fields.items()}
    top = set(
        re.findall(r'^  "([A-Za-z_]+)":', values_expression().replace("\n  ", "\n"), re.MULTILINE)
    )

    assert top <= aliases


def test_whatever_waits_says_what_it_waits_for() -> None:
    """Every object of others is ready only when its own condition says so, for what it is now."""
    for node in GRAPH["resources"]:
        (expression,) = node["readyWhen"]
        assert 'c.type == "Ready" && c.status == "True"' in expression
        assert expression.startswith(f"${{{node['id']}.status.conditions")


def test_the_example_fits_the_graph() -> None:
    """Its fields exist, and it names the component that the bootstrap makes."""
    example: dict[str, Any] = yaml.safe_load((ROOT / "ocm" / "installation.yaml").read_text())

    assert example["kind"] == GRAPH["schema"]["kind"]
    assert example["spec"].keys() <= GRAPH["schema"]["spec"].keys()
    Values.model_validate(example["spec"]["values"])
