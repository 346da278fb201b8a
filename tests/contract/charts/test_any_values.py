"""Whatever fits the schema renders to objects that Kubernetes could read."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import chart_helm
from chart_helm import Helm, Manifest
from chart_values import SCHEMA, values_of

pytestmark = pytest.mark.deep

CLUSTER_SCOPED = {
    "Namespace",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "IngressClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def identity(manifest: Manifest) -> tuple[str, str, str]:
    """Return what an object is told from others by."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def check(objects: tuple[Manifest, ...]) -> None:
    """Fail on objects that no cluster would take, or that are not what they seem."""
    assert len({identity(item) for item in objects}) == len(objects)
    for item in objects:
        assert {"apiVersion", "kind", "metadata"} <= item.keys()
        is_cluster_scoped = item["kind"] in CLUSTER_SCOPED
        assert ("namespace" in item["metadata"]) is not is_cluster_scoped, identity(item)
        assert_texts(item["metadata"].get("labels") or {})
        assert_texts(item["metadata"].get("annotations") or {})
    for deployment in chart_helm.of_kind(objects, "Deployment"):
        check_pod(deployment)


def assert_texts(entries: dict[str, Any]) -> None:
    """Fail when YAML made something else of a text."""
    assert all(isinstance(value, str) for value in entries.values()), entries


def check_pod(deployment: Manifest) -> None:
    """Fail when a pod lost its hardening or a variable is no text."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    for item in container.get("env", ()):
        assert isinstance(item.get("value", ""), str | None), item


@given(values=values_of(SCHEMA))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_of_the_schema_render(helm: Helm, values: dict[str, Any]) -> None:
    """Quotes, braces, markup and 4-byte characters included."""
    check(helm.template(json.loads(json.dumps(values))))


HOSTILE = "{{ .Values }} \" ' \\ }} <b>&amp; 🦙 #: - |"


def test_text_that_looks_like_a_template_stays_text(helm: Helm) -> None:
    """Nothing that a value says is run."""
    values = {
        "ingress": {"extraAnnotations": {"note": HOSTILE}},
        "authserver": {
            "podAnnotations": {"note": HOSTILE},
            "service": {"annotations": {"note": HOSTILE}},
        },
        "catalogue": {"models": {"mine": {"chatTemplate": HOSTILE, "sizeBytes": 253113024}}},
        "admissionPolicies": {"breakGlassGroups": [HOSTILE], "furtherOperators": [HOSTILE]},
        "extraEnv": [{"name": "NOTE", "value": HOSTILE}],
    }

    objects = helm.template(values)

    operator = chart_helm.one(objects, "Deployment", "private-llm-operator")
    environment = chart_helm.environment_of(operator)
    assert environment["NOTE"] == HOSTILE
    assert json.loads(environment["PRIVATE_LLM_INGRESS_ANNOTATIONS"]) == {"note": HOSTILE}
    service = chart_helm.one(objects, "Service", "private-llm-authserver")
    assert service["metadata"]["annotations"] == {"note": HOSTILE}
    catalogue = chart_helm.one(objects, "ConfigMap", "private-llm-catalogue")
    (model,) = chart_helm.objects_in(catalogue["data"]["mine.yaml"])
    assert model["spec"] == {"chatTemplate": HOSTILE, "sizeBytes": 253113024}


@pytest.mark.parametrize("scheme", ["", "http", "https"])
@pytest.mark.parametrize("host", ["", "localhost:8080", "llm.example.com", "[::1]:80", "10.0.0.7"])
@pytest.mark.parametrize("bundled", [True, False])
@pytest.mark.parametrize("namespaces", [[], ["a", "b"]])
def test_every_combination_of_the_main_values_renders(
    helm: Helm, scheme: str, host: str, bundled: bool, namespaces: list[str]
) -> None:
    """How it is reached, by which edge, and for whom."""
    values = {
        "PUBLIC_SCHEME": scheme,
        "PUBLIC_HOST": host,
        "traefik": {"enabled": bundled},
        "watch": {"namespaces": namespaces},
    }

    objects = helm.template(values)

    check(objects)
    operator = chart_helm.one(objects, "Deployment", "private-llm-operator")
    stays_here = host in ("", "localhost:8080", "[::1]:80")
    expected = scheme or ("http" if stays_here else "https")
    assert chart_helm.environment_of(operator)["PUBLIC_SCHEME"] == expected
