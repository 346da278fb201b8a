"""Releases, the number of pods, and what outlives a release."""

import json
from importlib.metadata import version
from typing import Any

import pytest

import chart_helm
from chart_helm import CHART, Helm, Manifest

VERSION = version("private-llm")

KEEP = "helm.sh/resource-policy"
SECOND: dict[str, Any] = {
    "crds": {"enabled": False},
    "catalogue": {"enabled": False},
    "watch": {"namespaces": ["other"]},
    "onboardedNamespaces": ["other"],
    "traefik": {"enabled": False},
}
"""What the documentation tells for a second release."""


def identities(objects: tuple[Manifest, ...]) -> set[tuple[str, str, str]]:
    """Return kind, namespace and name of each object."""
    return {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects}


def test_two_releases_share_no_object(helm: Helm, defaults: tuple[Manifest, ...]) -> None:
    """Even where they onboard the same namespace."""
    second = helm.template(SECOND | {"onboardedNamespaces": ["default"]}, namespace="other-system")

    assert identities(defaults) & identities(second) == set()


def test_what_customers_have_outlives_the_release(defaults: tuple[Manifest, ...]) -> None:
    """Definitions, keys, and what the keys of running servers derive from."""
    kept = {
        (o["kind"], o["metadata"]["name"])
        for o in defaults
        if (o["metadata"].get("annotations") or {}).get(KEEP) == "keep"
        if not o["metadata"]["name"].endswith(".traefik.io")
    }

    assert kept == {
        ("CustomResourceDefinition", "llminstances.llm.privatellms.msp"),
        ("CustomResourceDefinition", "apitokenrequests.llm.privatellms.msp"),
        ("CustomResourceDefinition", "llmmodels.llm.privatellms.msp"),
        ("Namespace", "private-llm-tokens"),
        ("Secret", "private-llm-platform-key"),
    }


@pytest.mark.parametrize("part", ["operator", "authserver", "edge"])
def test_the_number_of_pods_is_rendered_only_when_it_is_set(helm: Helm, part: str) -> None:
    """Otherwise every upgrade would undo `kubectl scale`, or fail over it."""
    group = "traefik" if part == "edge" else part

    def spec(replicas: int | None) -> Manifest:
        objects = helm.template({group: {"replicas": replicas}})
        found: Manifest = chart_helm.one(objects, "Deployment", f"private-llm-{part}")["spec"]
        return found

    assert "replicas" not in spec(None)
    assert spec(0)["replicas"] == 0
    assert spec(3)["replicas"] == 3


def test_the_authserver_runs_twice_and_apart_by_default(defaults: tuple[Manifest, ...]) -> None:
    """Every request asks it, so one node may go."""
    spec = chart_helm.one(defaults, "Deployment", "private-llm-authserver")["spec"]
    budget = chart_helm.one(defaults, "PodDisruptionBudget", "private-llm-authserver")["spec"]
    (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]

    assert spec["replicas"] == 2
    assert budget["minAvailable"] == 1
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["labelSelector"] == spec["selector"] == budget["selector"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "may order in: default."),
        ({"onboardedNamespaces": []}, "may order in: no namespace yet."),
        ({"watch": {"namespaces": ["acme"]}}, "may order in: no namespace yet."),
        (
            {"watch": {"namespaces": ["acme"]}, "onboardedNamespaces": ["acme", "other"]},
            "may order in: acme.",
        ),
        ({"portal": {"enabled": True}}, "http://localhost/pm-content.json"),
        ({"admissionPolicies": {"enabled": False}}, "WARNING: the admission policies are off."),
    ],
    ids=str,
)
def test_the_notes_say_what_this_release_is_good_for(
    helm: Helm, values: dict[str, Any], said: str
) -> None:
    """Who installs it reads them, and nothing else."""
    notes = helm.run(
        *("install", "private-llm", str(CHART), "--namespace", "private-llm-system"),
        *("--dry-run=client", "--output", "json"),
        values=values,
    )

    assert said in json.loads(notes)["info"]["notes"]


@pytest.mark.parametrize(
    ("replicas", "there"), [(None, True), (0, False), (1, False), (3, True)], ids=str
)
def test_a_single_pod_does_not_hold_up_the_drain_of_its_node(
    helm: Helm, replicas: int | None, there: bool
) -> None:
    """A budget of one of one lets nobody evict it, ever."""
    objects = helm.template({"authserver": {"replicas": replicas}})

    assert bool(chart_helm.of_kind(objects, "PodDisruptionBudget")) is there


def test_a_namespace_admin_cannot_pass_for_the_chart(defaults: tuple[Manifest, ...]) -> None:
    """No object of the chart carries a label that the children's policy guards."""
    for item in defaults:
        found = item["metadata"].get("labels") or {}
        assert found.get("app.kubernetes.io/managed-by") in (None, "Helm"), item["metadata"]
        assert "llm.privatellms.msp/instance" not in found


def test_services_stay_above_the_privileged_ports(helm: Helm) -> None:
    """Except for the bundled edge's, which is where browsers look; its pods listen above, too."""
    objects = helm.template({"metrics": {"serviceMonitor": {"enabled": True}}})

    for service in chart_helm.of_kind(objects, "Service"):
        if service["metadata"]["name"] != "private-llm-edge":
            assert all(port["port"] > 1023 for port in service["spec"]["ports"])
    for deployment in chart_helm.of_kind(objects, "Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert all(port["containerPort"] > 1023 for port in container["ports"])


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, f"mirror.example/private-llm/operator:{VERSION}"),
        ({"tag": "1"}, "mirror.example/private-llm/operator:1"),
        (
            {"digest": f"sha256:{'a' * 64}", "tag": "1"},
            f"mirror.example/private-llm/operator@sha256:{'a' * 64}",
        ),
        ({"repository": "team/operator"}, f"mirror.example/team/operator:{VERSION}"),
        ({"repository": "localhost:5000/operator"}, f"mirror.example/operator:{VERSION}"),
    ],
    ids=str,
)
def test_one_registry_can_replace_all_others(
    helm: Helm, image: dict[str, str], expected: str
) -> None:
    """For disconnected sites."""
    values = {"global": {"imageRegistry": "mirror.example"}, "image": image}

    operator = chart_helm.one(helm.template(values), "Deployment", "private-llm-operator")

    (container,) = operator["spec"]["template"]["spec"]["containers"]
    assert container["image"] == expected
    assert chart_helm.environment_of(operator)["PRIVATE_LLM_FETCHER_IMAGE"] == expected
