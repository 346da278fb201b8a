"""What Prometheus and Grafana get of the charts, and Prometheus' own program to try it with."""

import json
from typing import Any

import pytest

import alerts_promtool
import chart_helm
from alerts_promtool import Promtool
from chart_helm import NAMESPACE, REPOSITORY, Helm

SYNC_AGENT_CHART = REPOSITORY / "charts" / "private-llm-sync-agent"


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The pinned Helm, without a cluster."""
    return chart_helm.provide(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def groups(helm: Helm) -> list[dict[str, Any]]:
    """The groups of rules of both charts, in one namespace, as Prometheus gets them."""
    values = {"metrics": {"alerts": {"enabled": True}}}
    objects = (
        *helm.template(values),
        *helm.template(values, chart=SYNC_AGENT_CHART, namespace=NAMESPACE),
    )
    rules = chart_helm.of_kind(objects, "PrometheusRule")
    return [group for one in rules for group in one["spec"]["groups"]]


@pytest.fixture(scope="session")
def rules(groups: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The alerts by their names."""
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


@pytest.fixture(scope="session")
def dashboards(helm: Helm) -> dict[str, dict[str, Any]]:
    """The dashboards by the names of their files, as Grafana imports them."""
    objects = helm.template({"metrics": {"dashboards": {"enabled": True}}})
    return {
        name.removesuffix(".json"): json.loads(text)
        for item in chart_helm.of_kind(objects, "ConfigMap")
        for name, text in item["data"].items()
        if name.endswith(".json")
    }


@pytest.fixture
def promtool(tmp_path_factory: pytest.TempPathFactory) -> Promtool:
    """Prometheus' own program, in an empty directory."""
    return alerts_promtool.provide(tmp_path_factory.mktemp("promtool"))
