"""The sync agent's chart: what it renders is what the agent reads, and no right is there for nothing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import chart_helm
from chart_checks import check
from chart_helm import REPOSITORY, Helm, HelmError, Manifest
from chart_values import context_of, leaves, merged, nested, other_value, schema_of, values_of
from privatellm.telemetry.logs import LogFormat
from privatellm.telemetry.tracing import is_wanted
from privatellm_local.packaging.listing import Entry
from privatellm_local.packaging.sync_agent_values import SYNC_AGENT
from privatellm_sync_agent import flags as command_line
from privatellm_sync_agent.agent import Controller
from privatellm_sync_agent.flags import Address
from privatellm_sync_agent.published.defaults import published_resources
from privatellm_sync_agent.published.files import read_directory
from privatellm_sync_agent.published.onboarding import Grant, grants_of
from privatellm_sync_agent.related.guards import guards_of

CHART = REPOSITORY / SYNC_AGENT.directory
NAME = "private-llm-sync-agent"
SCHEMA = schema_of(CHART)

EVERYTHING: dict[str, Any] = {
    "kcp": {
        "endpointSlice": "my-export",
        "kubeconfigSecret": {"name": "kcp", "key": "config"},
        "endpointOverrides": {"shard.internal:6443": "kcp.example:443", "b:1": "[::1]:2"},
    },
    "agentName": "my-agent",
    "serviceCluster": {
        "kubeconfigSecret": {"name": "service", "key": "config"},
        "hostOverride": "https://10.0.0.1:6443",
        "caOverride": {"name": "service-ca", "key": "bundle.pem"},
    },
    "publishedResources": {
        "selector": "team in (a, b)",
        "further": {"things": {"resource": {"apiGroup": "example.com", "kind": "Thing"}}},
    },
    "onboarding": {"operatorNamespace": "the-operators"},
    "disabledControllers": ["apiexport", "sync"],
    "bindHost": "::",
    "logs": {"format": "console", "debug": True},
}

OTHERS: dict[tuple[str, ...], Any] = {
    ("serviceCluster", "hostOverride"): "https://10.0.0.1:6443",
    ("publishedResources", "further"): {"things": {"resource": {"apiGroup": "a", "kind": "B"}}},
    ("rbac", "furtherRules"): [{"apiGroups": ["a"], "resources": ["b"], "verbs": ["get"]}],
    ("agent", "hostAliases"): [{"ip": "10.0.0.1", "hostnames": ["kcp.example"]}],
    ("metrics", "serviceMonitor", "interval"): "7s",
    ("metrics", "alerts", "runbooks"): "https://docs.example/{alert}.html",
    ("otel", "endpoint"): "http://otel.example:4317",
    ("otel", "samplingPercent"): 50,
    ("kcp", "endpointOverrides"): {"shard.internal:6443": "kcp.example:443"},
}
CONTEXTS: dict[tuple[str, ...], dict[str, Any]] = {
    ("extraCA", "key"): {"extraCA": {"configMapName": "bundle"}},
    ("serviceCluster", "kubeconfigSecret", "key"): nested(
        ("serviceCluster", "kubeconfigSecret", "name"), "service"
    ),
    ("serviceCluster", "caOverride", "key"): nested(("serviceCluster", "caOverride", "name"), "ca"),
}


def render(
    helm: Helm, values: dict[str, Any] | None = None, **options: Any
) -> tuple[Manifest, ...]:
    """Return the chart's objects."""
    return helm.template(values, chart=CHART, **options)


def arguments(objects: tuple[Manifest, ...]) -> list[str]:
    """Return the command line as the kubelet would hand it over."""
    (container,) = chart_helm.one(objects, "Deployment", NAME)["spec"]["template"]["spec"][
        "containers"
    ]
    return [text.replace("$(POD_NAMESPACE)", "release") for text in container["args"]]


def test_the_chart_passes_a_strict_lint(helm: Helm) -> None:
    """With its defaults."""
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART))


def test_the_agent_reads_every_value(helm: Helm) -> None:
    """A value ends where it was meant to."""
    flags = command_line.parse(arguments(render(helm, EVERYTHING)))

    assert flags.kcp_kubeconfig == Path("/kcp/kubeconfig")
    assert flags.namespace == "release"
    assert (flags.endpoint_slice, flags.agent_name) == ("my-export", "my-agent")
    assert flags.selector == "team in (a, b)"
    assert flags.provided == Path("/published-resources")
    assert flags.leader_election
    assert flags.kubeconfig == Path("/service-cluster/kubeconfig")
    assert flags.host_override == "https://10.0.0.1:6443"
    assert flags.ca_file_override == "/service-ca/ca.crt"
    assert set(flags.overrides) == {
        ("shard.internal:6443", "kcp.example:443"),
        ("b:1", "[::1]:2"),
    }
    assert (flags.metrics, flags.health) == (Address("::", 8085), Address("::", 8086))
    assert flags.disabled == {Controller.EXPORT, Controller.SYNC}
    assert (flags.log_format, flags.log_debug) == (LogFormat.CONSOLE, True)


def test_every_flag_of_the_agent_can_be_reached(helm: Helm) -> None:
    """None is missing, and none is made up."""
    known = {
        option
        for action in command_line._parser()._actions
        for option in action.option_strings
        if option not in ("-h", "--help")
    }

    assert {text.split("=", 1)[0] for text in arguments(render(helm, EVERYTHING))} == known


def tracing(objects: tuple[Manifest, ...]) -> dict[str, Any]:
    """Return the variables about traces that the agent gets."""
    pod = chart_helm.one(objects, "Deployment", NAME)["spec"]["template"]["spec"]
    found = {
        one["name"]: one.get("value", one.get("valueFrom")) for one in pod["containers"][0]["env"]
    }
    return {name: value for name, value in found.items() if name.startswith("OTEL_")}


def test_the_agent_is_told_of_the_collector(helm: Helm) -> None:
    """By the variables that its tracing reads; the credential stays in its Secret."""
    values = {
        "endpoint": "http://otel.monitoring:4318",
        "protocol": "http/protobuf",
        "samplingPercent": 25,
        "headersSecret": {"name": "otel"},
    }
    told = tracing(render(helm, {"otel": values}))

    assert told == {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel.monitoring:4318",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": {"secretKeyRef": {"name": "otel", "key": "headers"}},
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.25",
    }
    assert is_wanted({name: str(value) for name, value in told.items()})


def test_the_agent_trusts_the_same_authorities_for_its_collector(helm: Helm) -> None:
    """OpenTelemetry brings its own list and does not read ``SSL_CERT_FILE``."""
    values = {"otel": {"endpoint": "https://otel:4317"}, "extraCA": {"configMapName": "bundle"}}

    told = tracing(render(helm, values))

    assert told["OTEL_EXPORTER_OTLP_CERTIFICATE"] == "/extra-ca/ca.crt"


def test_the_agent_traces_nothing_by_default(helm: Helm) -> None:
    """And so loads nothing that sends traces."""
    assert tracing(render(helm)) == {}


def test_a_listener_that_is_off_is_off(helm: Helm) -> None:
    """Metrics are a choice; probes are not."""
    flags = command_line.parse(arguments(render(helm, {"metrics": {"enabled": False}})))

    assert flags.metrics is None
    assert flags.health == Address("0.0.0.0", 8086)  # noqa: S104 - a pod's own addresses


def test_every_mounted_file_is_named_by_a_flag_or_a_variable(helm: Helm) -> None:
    """By the path at which it is mounted."""
    objects = render(helm, EVERYTHING | {"extraCA": {"configMapName": "bundle"}})
    pod = chart_helm.one(objects, "Deployment", NAME)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]} - {"/tmp"}  # noqa: S108
    said = [*container["args"], *(one.get("value", "") for one in container["env"])]

    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }
    for path in mounted:
        assert any(path in text for text in said), path


def test_the_agent_applies_the_two_kinds_and_what_the_values_add(
    helm: Helm, tmp_path: Path
) -> None:
    """As the ConfigMap's volume shows it."""
    found = chart_helm.one(render(helm, EVERYTHING), "ConfigMap", f"{NAME}-published-resources")
    for name, text in found["data"].items():
        (tmp_path / name).write_text(text)

    read = read_directory(tmp_path)

    assert read.faults == frozenset()
    ours = {one["metadata"]["name"]: one for one in published_resources()}
    for manifest in ours.values():
        manifest["metadata"].setdefault("annotations", {}).update(ONBOARDS)
    assert {name: read.manifests[name] for name in ours} == ours
    (grant,) = grants_of(read.manifests["private-llm-llminstances"])
    assert grant == Grant(
        cluster_role="private-llm-operator-tenant.the-operators",
        service_account="the-operators/private-llm-operator",
    )
    assert "annotations" not in read.manifests["things"]["metadata"]
    assert read.manifests["things"]["spec"] == EVERYTHING["publishedResources"]["further"]["things"]


def test_without_onboarding_the_files_go_in_as_they_are(helm: Helm) -> None:
    """The default grants nothing."""
    data = chart_helm.one(render(helm), "ConfigMap", f"{NAME}-published-resources")["data"]

    found = [yaml.safe_load(text) for text in data.values()]
    assert sorted(found, key=lambda one: one["metadata"]["name"]) == sorted(
        published_resources(), key=lambda one: one["metadata"]["name"]
    )


def test_another_spec_for_one_of_ours_keeps_what_guards_it(helm: Helm) -> None:
    """Such as one with another naming rule: the keys that travel stay the documented ones."""
    name = "private-llm-apitokenrequests"
    spec = {"resource": {"apiGroup": "llm.privatellms.msp", "kind": "APITokenRequest"}}

    objects = render(helm, {"publishedResources": {"further": {name: spec}}})

    data = chart_helm.one(objects, "ConfigMap", f"{NAME}-published-resources")["data"]
    found = yaml.safe_load(data[f"{name}.yaml"])
    assert found["spec"] == spec
    assert guards_of(found)["token"].controlled


@pytest.mark.parametrize("namespace", ["private-llm-system", "elsewhere"])
def test_the_releases_namespace_is_honoured_everywhere(helm: Helm, namespace: str) -> None:
    """In objects, in subjects, and in the names of what belongs to no namespace."""
    values = {"metrics": {"serviceMonitor": {"enabled": True}}}
    for item in render(helm, values, namespace=namespace):
        assert item["metadata"].get("namespace", namespace) == namespace
        for subject in item.get("subjects", ()):
            assert subject["namespace"] == namespace
        if item["kind"].startswith("ClusterRole"):
            assert item["metadata"]["name"] == f"{NAME}.{namespace}"


def documented_rules(number: int = 1) -> list[Manifest]:
    """Return the rules of a role of the how-to page: 1 for every agent, 2 for one that onboards."""
    page = (REPOSITORY / "docs/how-to/sync-agent.md").read_text()
    section = page.split("## 2. ")[1].split("## 3. ")[0]
    blocks = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", section, re.DOTALL))
    roles: list[list[Manifest]] = [
        one["rules"] for one in blocks if one.get("kind") == "ClusterRole"
    ]
    return roles[number - 1]


def rights_in(rules: list[Manifest]) -> set[tuple[str, str, str]]:
    """Return group, resource and verb of each right."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


ONBOARDS = {
    "onboard.syncagent.kcp.io/operator": json.dumps(
        {
            "clusterRole": "private-llm-operator-tenant.the-operators",
            "serviceAccount": "the-operators/private-llm-operator",
        },
        separators=(",", ":"),
    )
}
APPLIES = {("syncagent.kcp.io", "publishedresources", verb) for verb in ("create", "patch")}
OF_THE_KINDS = {"llminstances", "apitokenrequests", "secrets"}


def test_the_rights_are_the_documented_ones_and_that_of_applying(helm: Helm) -> None:
    """A test of the agent holds the documented ones to what it calls."""
    role = chart_helm.one(render(helm), "ClusterRole", f"{NAME}.private-llm-system")

    assert rights_in(role["rules"]) == rights_in(documented_rules()) | APPLIES
    assert not any("*" in right for right in rights_in(role["rules"]))


def test_onboarding_needs_the_documented_rights_and_no_others(helm: Helm) -> None:
    """One role may be bound, that of the operator in the namespace that the values name."""
    values = {"onboarding": {"operatorNamespace": "private-llm-system"}}

    role = chart_helm.one(render(helm, values), "ClusterRole", f"{NAME}.private-llm-system")

    documented = documented_rules() + documented_rules(2)
    assert rights_in(role["rules"]) == rights_in(documented) | APPLIES
    assert [one for one in role["rules"] if one["verbs"] == ["bind"]] == documented_rules(2)[-1:]


def test_the_operators_chart_has_the_role_and_the_account_that_are_bound(helm: Helm) -> None:
    """Or the agent would be refused every binding."""
    objects = helm.template({}, namespace="elsewhere")

    assert chart_helm.one(objects, "ClusterRole", "private-llm-operator-tenant.elsewhere")
    assert chart_helm.one(objects, "ServiceAccount", "private-llm-operator")


def test_an_agent_for_other_kinds_has_no_rights_on_ours(helm: Helm) -> None:
    """Nor on Secrets; it gets what the values say."""
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get", "list"]}
    values = {"publishedResources": {"enabled": False}, "rbac": {"furtherRules": [rule]}}

    role = chart_helm.one(render(helm, values), "ClusterRole", f"{NAME}.private-llm-system")

    expected = {one for one in rights_in(documented_rules()) if one[1] not in OF_THE_KINDS}
    assert rights_in(role["rules"]) == expected | rights_in([rule])


def test_the_lease_is_the_only_one_that_may_be_changed(helm: Helm) -> None:
    """It is called after the agent."""
    objects = render(helm, {"agentName": "mine"})

    named = [rule for rule in chart_helm.one(objects, "Role", NAME)["rules"] if len(rule) == 4]

    assert [rule["resourceNames"] for rule in named] == [["syncagent.mine"]]
    without = render(helm, {"leaderElection": False})
    assert chart_helm.of_kind(without, "Role") == ()


def test_two_pods_need_a_leader(helm: Helm) -> None:
    """And one without a Lease goes before the next one comes."""
    alone = {"leaderElection": False}
    strategy = chart_helm.one(render(helm, alone), "Deployment", NAME)["spec"]["strategy"]

    assert strategy == {"type": "Recreate"}
    with pytest.raises(HelmError, match="need leaderElection"):
        render(helm, alone | {"agent": {"replicas": 2}})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"namespace": "x"}, "namespace"),
        ({"kcp": {"kubeconfig": "text"}}, "kubeconfig"),
        ({"agentName": "Not_a_label"}, "agentName"),
        ({"kcp": {"kubeconfigSecret": {"name": ""}}}, "name"),
        ({"disabledControllers": ["everything"]}, "disabledControllers"),
        ({"rbac": {"furtherRules": [{"resources": ["a"], "verbs": ["get"]}]}}, "apiGroups"),
    ],
    ids=str,
)
def test_helm_refuses_what_the_schema_forbids(
    helm: Helm, values: dict[str, object], said: str
) -> None:
    """And names the value."""
    with pytest.raises(HelmError, match=said):
        render(helm, values)


def test_the_definition_outlives_the_release(helm: Helm) -> None:
    """Deleting it would take every PublishedResource along, and with them what customers see."""
    (crd,) = chart_helm.of_kind(render(helm), "CustomResourceDefinition")

    assert crd["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert chart_helm.of_kind(render(helm, {"crds": {"enabled": False}}), crd["kind"]) == ()


@pytest.mark.deep
@given(values=values_of(SCHEMA, whole=SCHEMA))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_of_the_schema_render(helm: Helm, values: dict[str, Any]) -> None:
    """Quotes, braces, markup and 4-byte characters; a second pod without a leader is refused elsewhere."""
    if not values.get("leaderElection", True):
        values.get("agent", {}).pop("replicas", None)

    check(render(helm, json.loads(json.dumps(values))))


@pytest.mark.deep
@pytest.mark.parametrize("leaf", tuple(leaves(SYNC_AGENT)), ids=lambda leaf: ".".join(leaf.path))
def test_a_value_changes_what_is_rendered(helm: Helm, leaf: Entry) -> None:
    """With another value than the default the objects differ."""
    context = CONTEXTS.get(leaf.path) or context_of(leaf)
    before = merged(nested(leaf.path, leaf.default), context)
    after = merged(before, nested(leaf.path, other_value(leaf, SCHEMA, OTHERS)))

    assert render(helm, before) != render(helm, after)


def test_names_that_look_like_numbers_stay_names(helm: Helm) -> None:
    """A release called 7 in a namespace called 42 is odd, and allowed."""
    rendered = helm.run("template", "7", str(CHART), "--namespace", "42")

    for item in chart_helm.objects_in(rendered):
        metadata = item["metadata"]
        assert metadata.get("namespace", "42") == "42"
        assert (metadata.get("labels") or {}).get("app.kubernetes.io/instance", "7") == "7"
