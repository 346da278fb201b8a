"""The chart gives the rights that the embedded environment gives, and no others."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest

import chart_helm
from chart_helm import Helm, Manifest
from privatellm_local.edge import objects as edge_objects
from privatellm_local.platform.facts import (
    AUTHSERVER,
    OPERATOR,
    SYSTEM_NAMESPACE,
    TOKEN_NAMESPACE,
    PlatformFacts,
)
from privatellm_local.platform.people import people
from privatellm_local.platform.rbac import rbac

EVERYWHERE = "*"

Right = tuple[str, str, str, str]
"""Namespace, API group, resource, verb."""


def rights_of(account: str, objects: Iterable[Manifest]) -> set[Right]:
    """Return everything that a service account of the release's namespace may do."""
    everything = tuple(objects)
    return {
        (_scope(binding), group, resource, verb)
        for binding in everything
        if binding["kind"] in ("RoleBinding", "ClusterRoleBinding")
        if any(subject["name"] == account for subject in binding["subjects"])
        for group, resource, verb in _rules(_role(binding, everything))
    }


def _scope(binding: Manifest) -> str:
    return str(binding["metadata"].get("namespace", EVERYWHERE))


def _role(binding: Manifest, objects: tuple[Manifest, ...]) -> Manifest:
    reference = binding["roleRef"]
    namespace = _scope(binding) if reference["kind"] == "Role" else ""
    return chart_helm.one(objects, reference["kind"], reference["name"], namespace)


def _rules(role: Manifest) -> Iterator[tuple[str, str, str]]:
    for rule in role["rules"]:
        assert rule.keys() == {"apiGroups", "resources", "verbs"}
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((group, resource, verb) for verb in rule["verbs"])


FACTS = PlatformFacts(
    public_host="localhost",
    auth_address=IPv4Address("127.100.0.10"),
    ingress_class="traefik",
    entry_points=("web",),
    models=(),
    onboarded_namespaces=("default", "demo"),
)
ONBOARDED: dict[str, Any] = {"onboardedNamespaces": ["default", "demo"]}


@pytest.mark.parametrize("account", [OPERATOR, AUTHSERVER])
def test_the_rights_are_those_of_the_embedded_environment(helm: Helm, account: str) -> None:
    """In every namespace, for every verb."""
    assert rights_of(account, helm.template(ONBOARDED)) == rights_of(account, rbac(FACTS))


def test_people_get_the_same_by_the_clusters_own_roles(defaults: tuple[Manifest, ...]) -> None:
    """A customer's `edit` is worth the same on a laptop."""

    def added(objects: Iterable[Manifest]) -> dict[str, set[tuple[str, str, str]]]:
        return {
            label: set(_rules(item))
            for item in objects
            if item["kind"] == "ClusterRole"
            for label in item["metadata"].get("labels", {})
            if "/aggregate-to-" in label
        }

    assert added(people()) == added(defaults)
    assert len(added(defaults)) == 3


def test_no_right_is_a_wildcard(defaults: tuple[Manifest, ...]) -> None:
    """Not even for the edge."""
    for item in defaults:
        for rule in item.get("rules", ()) if "Role" in item["kind"] else ():
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


def secrets(rights: set[Right]) -> set[str]:
    """Return where Secrets may be read."""
    return {namespace for namespace, _, resource, _ in rights if resource == "secrets"}


def test_secrets_are_never_read_cluster_wide_unless_asked_for(helm: Helm) -> None:
    """The operator's come with the onboarding of a namespace."""
    by_default = rights_of(OPERATOR, helm.template())
    none = rights_of(OPERATOR, helm.template({"onboardedNamespaces": []}))
    asked = rights_of(OPERATOR, helm.template({"rbac": {"secretsInAllNamespaces": True}}))

    assert secrets(by_default) == {"default", TOKEN_NAMESPACE}
    assert secrets(none) == {TOKEN_NAMESPACE}
    assert secrets(asked) == {EVERYWHERE, TOKEN_NAMESPACE}


def test_the_authserver_reads_one_namespace_and_nothing_else(
    defaults: tuple[Manifest, ...],
) -> None:
    """Whoever takes it over learns hashes."""
    assert {(r[0], r[2]) for r in rights_of(AUTHSERVER, defaults)} == {(TOKEN_NAMESPACE, "secrets")}
    assert {r[3] for r in rights_of(AUTHSERVER, defaults)} == {"get", "list", "watch"}


def test_an_operator_for_some_namespaces_has_rights_in_these_alone(helm: Helm) -> None:
    """Except for what has no namespace, for events about it, and for orders.

    A binding goes with its namespace; the finalizers of orders would stay, and with them the namespace.
    """
    everywhere = rights_of(OPERATOR, helm.template({"onboardedNamespaces": ["acme"]}))
    limited = rights_of(
        OPERATOR,
        helm.template({"watch": {"namespaces": ["acme"]}, "onboardedNamespaces": ["acme"]}),
    )

    cluster_wide = {r[2] for r in limited if r[0] == EVERYWHERE}
    assert cluster_wide == {
        "llminstances",
        "llminstances/status",
        "apitokenrequests",
        "apitokenrequests/status",
        "llmmodels",
        "llmmodels/status",
        "namespaces",
        "customresourcedefinitions",
    }
    assert {r[1:] for r in limited} == {r[1:] for r in everywhere}
    assert {r[0] for r in limited} == {
        EVERYWHERE,
        "acme",
        "default",
        SYSTEM_NAMESPACE,
        TOKEN_NAMESPACE,
    }
    assert {r[1:] for r in limited if r[0] == "default"} == {("events.k8s.io", "events", "create")}


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"onboardedNamespaces": ["acme", "elsewhere"]}, {"acme"}),
        ({"onboardedNamespaces": []}, set()),
        ({"rbac": {"secretsInAllNamespaces": True}}, {"acme", "beta"}),
    ],
    ids=str,
)
def test_no_secret_is_read_where_nobody_is_served(
    helm: Helm, values: dict[str, Any], where: set[str]
) -> None:
    """Not even where all namespaces are asked for: all are those that the operator watches."""
    objects = helm.template({"watch": {"namespaces": ["acme", "beta"]}, **values})

    assert secrets(rights_of(OPERATOR, objects)) == {*where, TOKEN_NAMESPACE}


def test_the_bundled_edge_reads_what_the_embedded_one_reads(
    defaults: tuple[Manifest, ...],
) -> None:
    """Traefik's providers decide what that is."""
    ours = rights_of("private-llm-edge", defaults)

    assert {r[1:] for r in ours} == set(_rules(edge_objects.cluster_role()))


@pytest.mark.parametrize("audience", ["editors", "viewers"])
def test_people_get_the_two_customer_kinds_and_nothing_else(
    defaults: tuple[Manifest, ...], audience: str
) -> None:
    """By Kubernetes' own roles."""
    role = chart_helm.one(defaults, "ClusterRole", f"private-llm-{audience}.{SYSTEM_NAMESPACE}")

    assert {resource for _, resource, _ in _rules(role)} == {
        "llminstances",
        "apitokenrequests",
        "llminstances/scale",
    }
    if audience == "viewers":
        assert {verb for _, _, verb in _rules(role)} == {"get", "list", "watch"}
