"""Alerts ask for metrics that our programs expose."""

import re
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CollectorRegistry, generate_latest

from privatellm_authserver import clocks
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import FleetCollector
from privatellm_operator.metrics import Metrics

ALERTS = Path(__file__).parents[3] / "charts/private-llm-operator/files/alerts.yaml"
METRIC = re.compile(r"\bprivate_llm_\w+")


def exposed() -> set[str]:
    """Return every series name that operator and ForwardAuth service can show."""
    registry = CollectorRegistry()
    registry.register(FleetCollector(Fleet(1), clocks.uptime))
    families = [*registry.collect(), *Metrics().registry.collect()]
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    return {family.name + suffix for family in families for suffix in suffixes[family.type]}


def rules() -> list[dict[str, Any]]:
    """Return every rule."""
    groups = yaml.safe_load(ALERTS.read_text().replace("{{", "").replace("}}", ""))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_every_metric_of_an_alert_exists() -> None:
    """A renamed metric would silence its alert without a word."""
    asked = {name for rule in rules() for name in METRIC.findall(rule["expr"])}

    assert asked
    assert asked <= exposed()


def test_the_programs_expose_what_this_test_believes() -> None:
    """The names are those of the exposition, too."""
    text = generate_latest(Metrics().registry).decode()

    assert "private_llm_queue_depth" in exposed()
    assert "private_llm_queue_depth 0.0" in text


def test_every_alert_says_what_to_do() -> None:
    """And how bad it is."""
    for rule in rules():
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning"}
