"""Whatever fits the schema renders to objects that Kubernetes could read."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import chart_helm
from chart_checks import check
from chart_helm import Helm
from chart_values import SCHEMA, values_of

pytestmark = pytest.mark.deep


@given(values=values_of(SCHEMA))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_of_the_schema_render(helm: Helm, values: dict[str, Any]) -> None:
    """Quotes, braces, markup and 4-byte characters; half a credential of the edge is refused elsewhere."""
    otel = values.get("otel", {})
    if bool(otel.get("edgeHeaders")) != bool(otel.get("headersSecret", {}).get("name")):
        otel.pop("edgeSamplingPercent", None)

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
