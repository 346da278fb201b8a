"""Alerts ask for metrics that our programs expose, and each says what to do."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from privatellm.telemetry.families import PARTS
from telemetry_parts import EXPOSITIONS, samples
from telemetry_queries import named_in

ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "charts/private-llm-operator/files/alerts.yaml"
RUNBOOKS = ROOT / "docs/how-to/runbooks"
SECTIONS = ["## What it means for customers", "## Look", "## Do"]
OF_THE_TARGET = {"namespace", "pod", "le"}
"""Labels that Prometheus adds, and that of a histogram's buckets."""


def rules() -> list[dict[str, Any]]:
    """Return every rule."""
    groups = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "0", ALERTS.read_text()))["groups"]
    return [rule for group in groups for rule in group["rules"]]


RULES = {rule["alert"]: rule for rule in rules()}
EXPOSED = {sample.name for expose in EXPOSITIONS.values() for sample in samples(expose())}
LABELS = {
    series: {*family.label_names, *OF_THE_TARGET}
    for part in PARTS
    for family in part.families
    for series in family.series
}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_an_alert_asks_for_what_some_program_exposes(rule: dict[str, Any]) -> None:
    """A renamed metric or label would silence it without a word."""
    named = named_in(rule["expr"])

    assert named.metrics
    assert named.metrics <= EXPOSED
    assert all(named.labels <= LABELS[metric] for metric in named.metrics)


def test_alerts_have_names_of_their_own() -> None:
    """The name is the address of the page."""
    assert len(RULES) == len(rules())
    assert all(re.fullmatch(r"PrivateLLM[A-Za-z]+", name) for name in RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_an_alert_says_what_is_wrong_and_how_bad_it_is(rule: dict[str, Any]) -> None:
    """In sentences."""
    assert rule["annotations"].keys() == {"summary", "description"}
    assert all(text.endswith(".") for text in rule["annotations"].values())
    assert rule["labels"]["severity"] in {"critical", "warning"}


@pytest.mark.parametrize("name", RULES)
def test_an_alert_has_a_runbook_that_says_where_to_look_and_what_to_do(name: str) -> None:
    """Under its name, which is how the chart makes `runbook_url`."""
    page = (RUNBOOKS / f"{name}.md").read_text()

    assert page.startswith(f"# {name}\n")
    assert re.findall(r"^## .*", page, re.MULTILINE) == SECTIONS


def test_no_runbook_is_left_of_an_alert_that_is_gone() -> None:
    """And the list of them is complete."""
    pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    listed = re.findall(
        r"^\| \[(\w+)\]\(\1\.md\)", (RUNBOOKS / "README.md").read_text(), re.MULTILINE
    )

    assert pages == set(RULES) == set(listed)


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*.md")), ids=lambda path: path.stem)
def test_a_runbook_names_metrics_that_exist(path: Path) -> None:
    """Whoever reads it at night has no time to guess."""
    named = set(re.findall(r"\b(?:private_llm|sync_agent)_[a-z_]+", path.read_text()))
    known = {family.name for part in PARTS for family in part.families} | EXPOSED

    assert named <= known
