"""What the chart writes into the environment is what the programs read."""

import base64
from typing import Any

import pytest
from pydantic_settings import BaseSettings

import chart_helm
from chart_helm import Helm, Manifest
from privatellm_authserver.settings import Settings as AuthserverSettings
from privatellm_operator.settings import PodSettings
from privatellm_operator.settings import Settings as OperatorSettings

EVERYTHING: dict[str, Any] = {
    "PUBLIC_HOST": "llm.example.com:8443",
    "auth": {"externalURL": "http://10.0.0.9:8090"},
    "ingress": {"className": "public", "extraAnnotations": {"a/b": 'c"d'}},
    "edge": {
        "namespaces": ["edge"],
        "entryPoints": ["one", "two"],
        "middlewareSeparator": "-",
        "corsOrigins": ["https://chat.example"],
        "requestsPerMinute": 1234567,
        "concurrentRequests": 7,
        "addressRequestsPerSecond": 9,
        "trustedProxies": 2,
    },
    "tokens": {"namespace": "keys", "longestLife": "2160h", "lastUseSeconds": 60},
    "server": {
        "imagePullSecrets": [{"name": "pull-a"}, {"name": "pull-b"}],
        "mirror": "https://hub.example",
        "allowFileSources": True,
        "allowPrivateSources": True,
        "gracePeriodSeconds": 60,
        "coldLoadSeconds": 600,
        "nodeClasses": {"gpu": {"nodeSelector": {"gpu": "yes"}, "runtimeClassName": "nvidia"}},
    },
    "modelCache": {
        "mode": "hostPath",
        "claim": "weights",
        "storageClass": "fast",
        "accessMode": "ReadWriteMany",
        "claimSize": "30Gi",
        "directory": "/models",
        "hubTokenSecret": "hub",
    },
    "limits": {"maxReplicas": 3, "maxInstances": 5, "maxTokenRequests": 9},
    "watch": {"namespaces": ["acme"], "workers": 4, "relistSeconds": 300, "sweepSeconds": 30},
    "authserver": {
        "workers": 3,
        "maxStalenessSeconds": 40,
        "drainSeconds": 5,
        "auditLinesPerSecond": 2,
    },
    "metrics": {"scraperNamespaces": ["prom"], "modelSeconds": 45},
    "logs": {"format": "console", "level": "debug"},
    "traefik": {"enabled": False},
    "extraCA": {"configMapName": "site", "key": "bundle"},
}


def environment(objects: tuple[Manifest, ...], name: str) -> dict[str, str]:
    """Return the variables of a part."""
    return chart_helm.environment_of(chart_helm.one(objects, "Deployment", f"private-llm-{name}"))


def set_all(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Give this process a container's variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_a_check_that_drains_for_longer_has_longer_to_end(helm: Helm) -> None:
    """Otherwise the kubelet would kill it before its last requests are answered."""
    graces = [
        chart_helm.one(
            helm.template({"authserver": {"drainSeconds": seconds}}),
            "Deployment",
            "private-llm-authserver",
        )["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        for seconds in (3, 25)
    ]

    assert graces == [30, 52]


def test_the_operator_reads_every_setting(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value ends where it was meant to."""
    variables = environment(helm.template(EVERYTHING), "operator")
    # Its file is in a volume of the pod.
    set_all(monkeypatch, variables | {"PRIVATE_LLM_EXTRA_CA_FILE": ""})

    read = OperatorSettings.of_environment()

    assert read.public.model_dump() == {"host": "llm.example.com:8443", "scheme": "https"}
    assert read.edge.model_dump() == {
        "auth_address": "http://10.0.0.9:8090",
        "ingress_class": "public",
        "entry_points": ("one", "two"),
        "middleware_separator": "-",
        "ingress_annotations": {"a/b": 'c"d'},
        "cors_origins": ("https://chat.example",),
        "requests_per_minute": 1234567,
        "concurrent_requests": 7,
        "address_requests_per_second": 9,
        "trusted_proxies": 2,
        "edge_namespaces": ("edge",),
        "scraper_namespaces": ("prom",),
    }
    assert (read.tokens.token_namespace, read.tokens.longest_token_life) == ("keys", "2160h")
    assert (read.last_use.seconds, read.last_use.port) == (60, 8091)
    assert read.model_metrics.seconds == 45
    assert read.servers.image_pull_secrets == ("pull-a", "pull-b")
    assert read.servers.mirror == "https://hub.example"
    assert read.servers.allow_file_sources
    assert read.servers.allow_private_sources
    assert (read.servers.grace_period_seconds, read.servers.cold_load_seconds) == (60, 600)
    assert read.servers.node_classes["gpu"].runtime_class_name == "nvidia"
    assert tuple(read.cache.model_dump().values()) == (
        *("hostPath", "weights", "fast", "ReadWriteMany", "30Gi", "/models", "hub"),
    )
    assert (read.extra_ca.config_map, read.extra_ca.config_map_key) == ("site", "bundle")
    assert (read.caps.max_replicas, read.caps.max_instances) == (3, 5)
    assert read.watch.namespaces == ("acme",)
    assert (read.watch.workers, read.watch.relist_seconds, read.watch.sweep_seconds) == (4, 300, 30)
    assert (read.logs.log_format, read.logs.log_level) == ("console", "debug")


def test_the_authserver_reads_every_setting(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same values."""
    set_all(monkeypatch, environment(helm.template(EVERYTHING), "authserver"))

    read = AuthserverSettings.from_environment()

    assert read.public_host == "llm.example.com:8443"
    assert read.token_namespace == "keys"
    assert (read.workers, read.max_staleness_seconds) == (3, 40)
    assert (read.drain_seconds, read.audit_lines_per_second) == (5, 2)
    assert (read.log_format, read.log_level) == ("console", "debug")


def variables_of(settings: type[BaseSettings]) -> set[str]:
    """Return the names that a group of settings reads."""
    prefix = settings.model_config.get("env_prefix", "")
    return {
        str(field.validation_alias or f"{prefix}{name}").upper()
        for name, field in settings.model_fields.items()
    }


NOT_OURS = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}


def test_no_variable_is_written_for_nobody(helm: Helm) -> None:
    """And no setting of the operator is out of the chart's reach."""
    objects = helm.template(EVERYTHING)
    groups = (type(getattr(OperatorSettings(), name)) for name in OperatorSettings.model_fields)
    operator = {name for group in groups for name in variables_of(group)}
    written = environment(objects, "operator").keys() - NOT_OURS

    assert written == operator - variables_of(PodSettings)
    assert environment(objects, "authserver").keys() - NOT_OURS == variables_of(AuthserverSettings)


@pytest.mark.parametrize("part", ["operator", "authserver"])
def test_the_collector_of_traces_is_believed_by_the_given_bundle(helm: Helm, part: str) -> None:
    """OpenTelemetry's exporters look nowhere else for certificates, whatever their protocol."""
    values = {"otel": {"endpoint": "https://otel:4317"}, "extraCA": {"configMapName": "site"}}

    written = environment(helm.template(values), part)

    assert written["OTEL_EXPORTER_OTLP_CERTIFICATE"] == "/extra-ca/ca.crt"


@pytest.mark.parametrize("part", ["operator", "authserver"])
def test_a_further_variable_stands_in_for_ours(helm: Helm, part: str) -> None:
    """No name is there twice: an API server that applies refuses such a list."""
    further = [
        {"name": "PRIVATE_LLM_LOG_LEVEL", "value": "debug"},
        {"name": "POD_IP", "value": "10.0.0.1"},
        {"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": "a=b"},
    ]
    group = {"extraEnv": further}
    objects = helm.template(
        {
            **(group if part == "operator" else {part: group}),
            "otel": {"endpoint": "http://otel:4317", "headersSecret": {"name": "secret"}},
        }
    )

    deployment = chart_helm.one(objects, "Deployment", f"private-llm-{part}")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    names = [variable["name"] for variable in container["env"]]
    assert len(names) == len(set(names))
    assert {item["name"]: item["value"] for item in further}.items() <= environment(
        objects, part
    ).items()


@pytest.mark.parametrize(
    ("values", "address"),
    [
        ({}, "http://private-llm-authserver.private-llm-system.svc:8090"),
        ({"authserver": {"service": {"clusterIP": "10.0.0.9"}}}, "http://10.0.0.9:8090"),
        ({"authserver": {"service": {"clusterIP": "fd00::9"}}}, "http://[fd00::9]:8090"),
        ({"auth": {"externalURL": "http://auth.example:80"}}, "http://auth.example:80"),
    ],
    ids=str,
)
def test_the_edge_asks_the_service_that_the_chart_makes(
    helm: Helm, values: dict[str, Any], address: str
) -> None:
    """By name, by a fixed address, or wherever the platform says."""
    written = environment(helm.template(values), "operator")

    assert written["PRIVATE_LLM_AUTH_ADDRESS"] == address


def test_the_platform_key_is_one_that_the_programs_accept(defaults: tuple[Manifest, ...]) -> None:
    """32 random bytes as base64url text, in a Secret that outlives the release and never changes."""
    secret = chart_helm.one(defaults, "Secret", "private-llm-platform-key")

    assert secret["immutable"] is True
    assert secret["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert len(_decoded(secret["data"]["platform-key"])) == 43


def test_each_rendering_without_a_cluster_makes_another_key(helm: Helm) -> None:
    """So nobody shares one by accident; a Secret of the platform's own replaces it."""
    keys = {
        chart_helm.one(helm.template(), "Secret", "private-llm-platform-key")["data"][
            "platform-key"
        ]
        for _ in range(2)
    }
    own = helm.template({"platformKey": {"existingSecret": "mine"}})

    assert len(keys) == 2
    assert chart_helm.of_kind(own, "Secret") == ()
    volumes = chart_helm.one(own, "Deployment", "private-llm-operator")["spec"]["template"]["spec"][
        "volumes"
    ]
    assert volumes[0]["secret"]["secretName"] == "mine"


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
