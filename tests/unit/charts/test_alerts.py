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
ALERTS = sorted(ROOT.glob("charts/*/files/alerts.yaml"))
RUNBOOKS = ROOT / "docs/how-to/runbooks"
SECTIONS = ["## What it means for customers", "## Look", "## Do"]
MUST_EXIST = {
    "PrivateLLMAuthGone": "private_llm_auth_worker_up",
    "PrivateLLMNobodyLeads": "private_llm_leading",
    "PrivateLLMSyncNobodyLeads": "sync_agent_leading",
}
"""What is a total loss of a part when it is 0, and as much when there is no series of it."""

OF_ONE_POD = {"PrivateLLMAuthWorkerDown"}
"""Alerts of too little about a pod that is there; PrivateLLMAuthGone is about those that are not."""

OF_THE_TARGET = {"namespace", "pod", "le"}
"""Labels that Prometheus adds, and that of a histogram's buckets."""


def rules() -> list[dict[str, Any]]:
    """Return every rule of every chart."""
    return [rule for path in ALERTS for rule in _rules_in(path)]


def _rules_in(path: Path) -> list[dict[str, Any]]:
    groups = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "0", path.read_text()))["groups"]
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


@pytest.mark.parametrize("name", MUST_EXIST)
def test_a_part_that_is_gone_is_told_of_like_one_that_does_nothing(name: str) -> None:
    """A comparison with a series that is absent is absent, and fires never."""
    expression = RULES[name]["expr"]
    found = re.fullmatch(
        r'\((?:max|sum)\((\w+)\{namespace="0"\}\) or vector\(0\)\) < 1', expression
    )

    assert found is not None
    assert found[1] == MUST_EXIST[name]
    assert RULES[name]["labels"] == {"severity": "critical"}


def test_every_alert_of_too_little_knows_what_is_absent() -> None:
    """Whatever is added."""
    of_too_little = {name for name, rule in RULES.items() if re.search(r"<\s*\S+$", rule["expr"])}

    assert of_too_little == MUST_EXIST.keys() | OF_ONE_POD


def test_a_pod_that_never_had_an_index_is_told_of() -> None:
    """It has no age that could be too large; a running worker without one is what there is to see."""
    expression = RULES["PrivateLLMAuthIndexMissing"]["expr"]
    running, _, aged = expression.partition(" unless on (pod, worker) ")

    assert re.search(r'private_llm_auth_worker_up\{namespace="0"\} == 1$', running)
    assert aged.startswith("private_llm_auth_index_age_seconds{")


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_an_alert_asks_for_its_release_alone(rule: dict[str, Any]) -> None:
    """Two releases under one Prometheus answer for themselves."""
    matchers = re.findall(r"\b(?:private_llm|sync_agent)_\w+(\{)?", rule["expr"])

    assert all(matchers)
    assert rule["expr"].count('namespace="0"') == len(matchers)


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
