"""The chart's admission policies are those of the kernel, with this installation's values."""

import dataclasses
from typing import Any

import pytest

from chart_helm import NAMESPACE, Helm, Manifest
from privatellm.admission import AdmissionFacts, admission_policies
from privatellm_cli.doctor.checks import admission
from privatellm_cli.doctor.facts import Facts, Installation
from privatellm_cli.doctor.findings import Level

OPERATOR = f"system:serviceaccount:{NAMESPACE}:private-llm-operator"
HOSTILE = 'x"] || true || "<&>🦙{{ .Values }}'

CASES: tuple[tuple[dict[str, Any], AdmissionFacts], ...] = (
    (
        {"traefik": {"enabled": False}, "edge": {"namespaces": []}},
        AdmissionFacts(
            operator_usernames=(OPERATOR,),
            system_namespace=NAMESPACE,
            token_namespace="private-llm-tokens",
            ingress_class="traefik",
            break_glass_groups=("system:masters",),
        ),
    ),
    (
        {
            "edge": {"namespaces": ["edge-a", "edge-b"]},
            "ingress": {"className": "public"},
            "tokens": {"namespace": "keys"},
            "admissionPolicies": {
                "breakGlassGroups": ["admins", HOSTILE],
                "furtherOperators": ["system:serviceaccount:other:private-llm-operator"],
                "furtherPlatformNamespaces": ["ci"],
            },
        },
        AdmissionFacts(
            operator_usernames=(OPERATOR, "system:serviceaccount:other:private-llm-operator"),
            system_namespace=NAMESPACE,
            token_namespace="keys",
            ingress_class="public",
            further_platform_namespaces=("edge-a", "edge-b", "ci"),
            break_glass_groups=("admins", HOSTILE),
        ),
    ),
)


def without_names(manifests: tuple[Manifest, ...]) -> list[tuple[str, str, Any]]:
    """Return kind, name without the namespace at its end, and spec."""
    found = []
    for item in manifests:
        spec = dict(item["spec"])
        if "policyName" in spec:
            spec["policyName"] = spec["policyName"].removesuffix(f".{NAMESPACE}")
        name = item["metadata"]["name"].removesuffix(f".{NAMESPACE}")
        found.append((item["kind"], name, spec))
    return sorted(found, key=lambda entry: entry[:2])


def policies_in(objects: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    """Return policies and bindings."""
    return tuple(o for o in objects if o["kind"].startswith("ValidatingAdmissionPolicy"))


@pytest.mark.parametrize(("values", "facts"), CASES, ids=["plain", "everything set"])
def test_the_policies_say_what_the_kernel_says(
    helm: Helm, values: dict[str, Any], facts: AdmissionFacts
) -> None:
    """Character for character, whatever is in a name."""
    rendered = policies_in(helm.template(values))

    assert without_names(rendered) == without_names(admission_policies(facts))


def test_the_namespace_of_the_bundled_edge_is_the_platforms(helm: Helm) -> None:
    """A release that runs Traefik keeps its routes out of tenants' reach."""
    names = {
        namespace
        for policy in policies_in(helm.template({"edge": {"namespaces": ["traefik"]}}))
        for expression in policy["spec"]
        .get("matchConstraints", {})
        .get("namespaceSelector", {})
        .get("matchExpressions", ())
        for namespace in expression["values"]
    }

    assert names == {NAMESPACE, "traefik"}


def test_the_doctor_finds_the_charts_policies(helm: Helm) -> None:
    """Under the names that end in the release's namespace, and not those of another release."""
    ours, others = (policies_in(helm.template(namespace=n)) for n in (NAMESPACE, "other-system"))

    (healthy,) = admission.policies(facts_with(ours))
    findings = tuple(admission.policies(facts_with(others)))

    assert healthy.level is Level.OK
    assert [finding.level for finding in findings] == [Level.FAILURE]


def facts_with(manifests: tuple[Manifest, ...]) -> Facts:
    """Return what the doctor saw in a cluster with these policies."""
    unseen = {field.name: None for field in dataclasses.fields(Facts)}
    seen = {
        "installation": Installation(NAMESPACE, "private-llm-operator"),
        "policies": tuple(m for m in manifests if m["kind"] == "ValidatingAdmissionPolicy"),
        "bindings": tuple(m for m in manifests if m["kind"] != "ValidatingAdmissionPolicy"),
    }
    return Facts(**(unseen | seen))  # type: ignore[arg-type]


def test_the_policies_can_be_left_out(helm: Helm) -> None:
    """A platform with policies of its own may do so."""
    assert policies_in(helm.template({"admissionPolicies": {"enabled": False}})) == ()
