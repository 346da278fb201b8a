"""What the chart gives to Prometheus, Grafana and a collector of traces."""

import json
import re
import shlex
from typing import Any

import pytest

import chart_helm
from chart_helm import REPOSITORY, Helm, Manifest
from privatellm_cli.doctor import traefik
from privatellm_local.packaging.dashboards import DASHBOARDS
from privatellm_local.packaging.dashboards.dashboard import MAX_STALENESS_SECONDS, RELEASE_NAMESPACE

OTEL = {
    "endpoint": "http://otel.monitoring:4317",
    "protocol": "http/protobuf",
    "samplingPercent": 25,
    "headersSecret": {"name": "otel", "key": "headers"},
}


HEALTHY_AGE = 25
"""Seconds within which an index is confirmed while all is well."""


def alerts(helm: Helm, others: dict[str, Any] | None = None, **values: Any) -> list[dict[str, Any]]:
    """Return the rules as Prometheus gets them."""
    metrics = {"metrics": {"alerts": {"enabled": True, **values}}}
    objects = helm.template(metrics | (others or {}))
    (rule,) = chart_helm.of_kind(objects, "PrometheusRule")
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def agent_alerts(helm: Helm, **metrics: Any) -> list[dict[str, Any]]:
    """Return the rules of the sync agent's chart."""
    chart = REPOSITORY / "charts" / "private-llm-sync-agent"
    objects = helm.template({"metrics": metrics}, chart=chart, namespace="the-agents")
    rules = chart_helm.of_kind(objects, "PrometheusRule")
    return [alert for one in rules for group in one["spec"]["groups"] for alert in group["rules"]]


def test_who_runs_no_sync_agent_is_not_told_that_none_leads(helm: Helm) -> None:
    """An absent agent is a loss where its chart is installed, and only there."""
    agents = agent_alerts(helm, alerts={"enabled": True})

    assert not any("sync_agent_" in alert["expr"] for alert in alerts(helm))
    assert all('{namespace="the-agents"' in alert["expr"] for alert in agents)
    assert {alert["alert"] for alert in agents} >= {"PrivateLLMSyncNobodyLeads"}


def test_an_agent_without_metrics_has_no_alerts(helm: Helm) -> None:
    """All of them would say for ever that it is gone."""
    assert agent_alerts(helm, enabled=False, alerts={"enabled": True}) == []
    assert agent_alerts(helm) == []


def test_each_alert_carries_the_url_of_its_runbook(helm: Helm) -> None:
    """Wherever the pages are published."""
    runbooks = "https://docs.example/runbooks/{alert}.html"
    of_agent = agent_alerts(helm, alerts={"enabled": True, "runbooks": runbooks})
    for alert in (*alerts(helm, runbooks=runbooks), *of_agent):
        url = f"https://docs.example/runbooks/{alert['alert']}.html"
        assert alert["annotations"]["runbook_url"] == url


def test_alerts_without_published_runbooks_carry_no_url(helm: Helm) -> None:
    """A link that leads nowhere is worse than none."""
    rules = alerts(helm)

    assert rules
    assert not any("runbook_url" in alert["annotations"] for alert in rules)
    assert all("{{" not in alert["expr"] for alert in rules)


@pytest.mark.parametrize(("closes_at", "limit"), [(20, 26), (60, 30), (61, 30), (600, 300)])
def test_an_old_index_is_told_of_while_the_edge_is_open(
    helm: Helm, closes_at: int, limit: int
) -> None:
    """Half of the time is left then, and no healthy index is that old."""
    rules = alerts(helm, {"authserver": {"maxStalenessSeconds": closes_at}})
    (rule,) = (one for one in rules if one["alert"] == "PrivateLLMAuthIndexStale")

    assert rule["expr"].endswith(f"> {limit}")
    assert limit > HEALTHY_AGE
    assert "for" not in rule
    assert f"for {limit} seconds" in rule["annotations"]["summary"]
    assert f"when {closes_at} seconds" in rule["annotations"]["description"]


def test_alerts_for_other_systems_come_as_the_page_says(helm: Helm) -> None:
    """The file alone holds templates, and would ask for what nobody has."""
    page = (REPOSITORY / "docs/how-to/monitor.md").read_text()
    (command,) = re.findall(r"^\$ helm template (.+?)\n```", page, re.MULTILINE | re.DOTALL)
    release, chart, *options = shlex.split(re.sub(r"-f values.yaml|\\\n", "", command))

    shown = helm.run("template", release, str(REPOSITORY / chart), *options)

    (rule,) = chart_helm.objects_in(shown)
    assert rule["kind"] == "PrometheusRule"
    assert rule["spec"]["groups"]
    assert "{{" not in shown


def filled_in(text: str, marks: dict[str, str]) -> str:
    """Return a text with something for each of its marks."""
    return re.sub("%[A-Z_]+%", lambda mark: marks[mark[0]], text)


def test_a_dashboard_begins_with_its_release_and_knows_when_the_edge_closes(helm: Helm) -> None:
    """Whatever the namespace and the values are."""
    values = {
        "authserver": {"maxStalenessSeconds": 240},
        "metrics": {"dashboards": {"enabled": True}},
    }
    objects = chart_helm.of_kind(helm.template(values, namespace="the-second"), "ConfigMap")
    (text,) = (item["data"]["edge.json"] for item in objects if "edge.json" in item["data"])
    read = json.loads(text)

    (age,) = (panel for panel in read["panels"] if panel["title"] == "Age of the index")
    assert "240 in the release" in age["description"]
    assert {
        choice["name"]: choice["current"]["value"]
        for choice in read["templating"]["list"]
        if "current" in choice
    } == {"namespace": "the-second", "edge_namespace": "the-second"}


def test_each_dashboard_is_a_config_map_that_the_sidecar_finds(helm: Helm) -> None:
    """With the JSON as it was generated: Helm leaves Grafana's braces alone."""
    values = {"metrics": {"dashboards": {"enabled": True, "labels": {"team": "llm"}}}}
    marks = {RELEASE_NAMESPACE: chart_helm.NAMESPACE, MAX_STALENESS_SECONDS: "60"}
    found = {
        name: (json.loads(text), item["metadata"])
        for item in chart_helm.of_kind(helm.template(values), "ConfigMap")
        for name, text in item["data"].items()
        if name.endswith(".json")
    }

    assert {name: read for name, (read, _) in found.items()} == {
        f"{one.name}.json": json.loads(filled_in(one.to_json(), marks)) for one in DASHBOARDS
    }
    for _, metadata in found.values():
        assert metadata["labels"].items() >= {"grafana_dashboard": "1", "team": "llm"}.items()
        assert metadata["annotations"] == {"grafana_folder": "Private LLM"}


def container(objects: tuple[Manifest, ...], part: str) -> dict[str, Any]:
    """Return the variables of a part's container."""
    deployment = chart_helm.one(objects, "Deployment", f"private-llm-{part}")
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in found["env"]}


def test_both_programs_are_told_of_the_collector(helm: Helm) -> None:
    """By the variables of the OpenTelemetry specification; the credential stays in its Secret."""
    objects = helm.template({"otel": OTEL})

    for part in ("operator", "authserver"):
        told = {n: v for n, v in container(objects, part).items() if n.startswith("OTEL_")}
        assert told == {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel.monitoring:4317",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_HEADERS": {"secretKeyRef": {"name": "otel", "key": "headers"}},
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.25",
        }


def test_nobody_is_told_of_traces_by_default(defaults: tuple[Manifest, ...]) -> None:
    """And so nobody loads what sends them."""
    for part in ("operator", "authserver"):
        assert not any(name.startswith("OTEL_") for name in container(defaults, part))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"protocol": "grpc"},
            {
                "tracing.otlp.grpc.endpoint": "otel.monitoring:4317",
                "tracing.otlp.grpc.insecure": "true",
            },
        ),
        (
            {"protocol": "grpc", "endpoint": "https://otel.example:443/"},
            {
                "tracing.otlp.grpc.endpoint": "otel.example:443",
                "tracing.otlp.grpc.insecure": "false",
            },
        ),
        (
            {"protocol": "grpc", "endpoint": "https://[::1]/of/nobody"},
            {"tracing.otlp.grpc.endpoint": "[::1]:443", "tracing.otlp.grpc.insecure": "false"},
        ),
        (
            {"protocol": "http/protobuf"},
            {"tracing.otlp.http.endpoint": "http://otel.monitoring:4317/v1/traces"},
        ),
    ],
    ids=str,
)
def test_the_bundled_edge_traces_a_share_of_the_requests(
    helm: Helm, values: dict[str, str], expected: dict[str, str]
) -> None:
    """To the same collector, in the form that Traefik wants."""
    edge = {"edgeSamplingPercent": 5, "headersSecret": {"name": ""}}
    objects = helm.template({"otel": OTEL | edge | values})
    common = {"tracing.servicename": "private-llm-edge", "tracing.samplerate": "0.05"}

    assert of_tracing(objects) == common | expected


def test_the_bundled_edge_traces_nothing_unless_it_is_told_to(helm: Helm) -> None:
    """Its spans carry paths, which may hold a key."""
    assert of_tracing(helm.template({"otel": OTEL})) == {}


def of_tracing(objects: tuple[Manifest, ...]) -> dict[str, str]:
    """Return how the bundled edge traces, as `privatellm doctor` reads it."""
    found = traefik.of_workload(chart_helm.one(objects, "Deployment", "private-llm-edge"))
    assert found is not None
    return {n: v for n, v in found.settings.items() if n.startswith("tracing.")}


def test_every_part_of_a_release_is_scraped(helm: Helm) -> None:
    """By ports that its pods have."""
    objects = helm.template({"metrics": {"serviceMonitor": {"enabled": True}}})
    (pods,) = chart_helm.of_kind(objects, "PodMonitor")
    deployments = {
        item["metadata"]["name"]: item["spec"]["template"]
        for item in chart_helm.of_kind(objects, "Deployment")
    }
    (endpoint,) = pods["spec"]["podMetricsEndpoints"]
    edge = deployments["private-llm-edge"]
    (container,) = edge["spec"]["containers"]

    assert endpoint["port"] in {port["name"] for port in container["ports"]}
    assert pods["spec"]["selector"]["matchLabels"].items() <= edge["metadata"]["labels"].items()
    services = {item["metadata"]["name"] for item in chart_helm.of_kind(objects, "ServiceMonitor")}
    assert services | {pods["metadata"]["name"]} == set(deployments)


def test_an_edge_of_the_platforms_own_is_not_scraped_by_us(helm: Helm) -> None:
    """It has a monitor of its own."""
    values = {"metrics": {"serviceMonitor": {"enabled": True}}, "traefik": {"enabled": False}}

    assert chart_helm.of_kind(helm.template(values), "PodMonitor") == ()
