"""What holds for every policy, whatever it guards."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from privatellm.admission import AdmissionFacts, admission_policies
from privatellm.admission.policies import BUILDERS

FACTS = AdmissionFacts(
    operator_usernames=("system:serviceaccount:llm:operator",),
    system_namespace="llm",
    token_namespace="llm-keys",
    ingress_class="public",
    further_platform_namespaces=("edge",),
    break_glass_groups=("sre",),
)
OBJECTS = admission_policies(FACTS)
POLICIES = tuple(o for o in OBJECTS if o["kind"] == "ValidatingAdmissionPolicy")
BINDINGS = tuple(o for o in OBJECTS if o["kind"] == "ValidatingAdmissionPolicyBinding")

LONGEST_EXPRESSION = 16 * 1024
"""What the API server takes as an expression, in bytes."""

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p["metadata"]["name"])


def named(name: str) -> dict[str, Any]:
    """Return a policy by its name without our prefix."""
    (policy,) = (p for p in POLICIES if p["metadata"]["name"] == f"private-llm-{name}")
    return policy


def test_every_builder_gives_a_policy() -> None:
    assert len(POLICIES) == len(BUILDERS)


def test_names_are_unique_and_ours() -> None:
    names = [(o["kind"], o["metadata"]["name"]) for o in OBJECTS]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"private-llm-[a-z-]+", name) for _, name in names)


def test_a_binding_follows_its_policy() -> None:
    """No policy is ever bound before it is there."""
    seen: set[str] = set()
    for manifest in OBJECTS:
        if manifest in BINDINGS:
            assert manifest["spec"]["policyName"] in seen
        seen.add(manifest["metadata"]["name"])


@every_policy
def test_every_policy_is_in_force(policy: dict[str, Any]) -> None:
    bound = [b for b in BINDINGS if b["spec"]["policyName"] == policy["metadata"]["name"]]

    assert bound
    assert all(b["spec"]["validationActions"] == ["Deny"] for b in bound)


@every_policy
def test_every_policy_fails_closed(policy: dict[str, Any]) -> None:
    assert policy["spec"]["failurePolicy"] == "Fail"


@every_policy
def test_deleting_stays_free(policy: dict[str, Any]) -> None:
    """Or garbage collection and the deletion of a namespace hang."""
    rules = policy["spec"]["matchConstraints"]["resourceRules"]

    assert rules
    assert not [rule for rule in rules if {"DELETE", "*"} & set(rule["operations"])]


@every_policy
def test_a_refusal_is_a_403_with_a_rule_and_a_remedy(policy: dict[str, Any]) -> None:
    for validation in policy["spec"]["validations"]:
        assert validation["reason"] == "Forbidden"
        assert re.fullmatch(r"[A-Z].+\. [A-Z].+\.", validation["message"])
        assert "request.userInfo.username" in validation["messageExpression"]


@every_policy
def test_expressions_fit_the_api_server(policy: dict[str, Any]) -> None:
    spec = policy["spec"]
    expressions = [
        *(c["expression"] for c in spec["matchConditions"]),
        *(v["expression"] for v in (*spec["variables"], *spec["validations"])),
        *(v["messageExpression"] for v in spec["validations"]),
    ]

    assert all(0 < len(e.encode()) < LONGEST_EXPRESSION and "\n" not in e for e in expressions)


@every_policy
def test_break_glass_groups_pass_every_policy(policy: dict[str, Any]) -> None:
    (condition,) = policy["spec"]["matchConditions"]

    assert '"sre"' in condition["expression"]


def test_the_operator_passes_every_policy_on_objects() -> None:
    locked_out = [
        p["metadata"]["name"]
        for p in POLICIES
        if FACTS.operator_usernames[0] not in p["spec"]["matchConditions"][0]["expression"]
    ]

    assert locked_out == ["private-llm-pod-connections", "private-llm-service-connections"]


@pytest.mark.parametrize("name", ["scales", "statuses", "pod-connections"])
def test_controllers_have_no_part_in_what_only_people_and_the_operator_do(name: str) -> None:
    """An autoscaler would carry a tenant's wish past the policy."""
    (condition,) = named(name)["spec"]["matchConditions"]

    assert not [u for u in FACTS.controller_usernames if u in condition["expression"]]


def test_without_break_glass_groups_connections_are_closed_to_all() -> None:
    objects = admission_policies(replace(FACTS, break_glass_groups=()))
    (policy,) = (o for o in objects if o["spec"].get("paramKind", {}).get("kind") == "Pod")

    assert policy["spec"]["matchConditions"] == []


@pytest.mark.parametrize("name", ["edge-objects", "ingresses", "network-policies"])
def test_the_platforms_namespaces_are_left_to_the_platform(name: str) -> None:
    selector = named(name)["spec"]["matchConstraints"]["namespaceSelector"]

    assert selector["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["llm", "edge"]}
    ]


def test_every_value_of_an_installation_comes_from_the_facts() -> None:
    """A second installation with other names shares none of the first one's."""
    other = admission_policies(
        AdmissionFacts(
            operator_usernames=("second-operator",),
            system_namespace="second-system",
            token_namespace="second-keys",
            ingress_class="second-class",
            controller_usernames=("second-controller",),
        )
    )
    values = ("serviceaccount:llm:operator", '"llm"', "llm-keys", "public", 'edge"', "sre", "kube-")

    text = json.dumps(other)

    assert not [value for value in values if value in text]
    assert all(value in text for value in ("second-operator", "second-keys", "second-class"))


def test_builders_are_pure() -> None:
    assert admission_policies(FACTS) == OBJECTS
