"""Who may reach the ForwardAuth service: others would guess keys there, or read who uses them."""

from typing import Any

import pytest

import chart_helm
from chart_helm import Helm, Manifest, Values

AUTHSERVER = "private-llm-authserver"
OPERATOR = "private-llm-operator"
EDGE = "private-llm-edge"
NOBODY: Values = {
    "traefik": {"enabled": False},
    "edge": {"namespaces": []},
    "metrics": {"scraperNamespaces": []},
}
SOMEBODY: Values = {
    "traefik": {"enabled": False},
    "edge": {"namespaces": ["ingress", "ingress-internal"]},
    "metrics": {"scraperNamespaces": ["monitoring", "grafana"]},
}


def spec_of(objects: tuple[Manifest, ...]) -> dict[str, Any]:
    """Return the policy of the ForwardAuth service."""
    return dict(chart_helm.one(objects, "NetworkPolicy", AUTHSERVER)["spec"])


def pod_labels(objects: tuple[Manifest, ...], name: str) -> dict[str, str]:
    """Return the labels of a Deployment's pods."""
    template = chart_helm.one(objects, "Deployment", name)["spec"]["template"]
    return dict(template["metadata"]["labels"])


def peers_of(spec: dict[str, Any], port: int) -> list[dict[str, Any]]:
    """Return who may reach a port; a rule that names no port would be about all of them."""
    rules = [r for r in spec["ingress"] if any(p["port"] == port for p in r["ports"])]
    return [peer for rule in rules for peer in rule["from"]]


def namespaces(*names: str) -> dict[str, Any]:
    """Return all pods of some namespaces as a peer."""
    name = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(names)}
    return {"namespaceSelector": {"matchExpressions": [name]}}


def test_it_is_about_every_pod_of_the_service(defaults: tuple[Manifest, ...]) -> None:
    """And says all that may come in."""
    spec = spec_of(defaults)

    assert spec["policyTypes"] == ["Ingress"]
    selected = spec["podSelector"]["matchLabels"]
    assert selected
    assert selected.items() <= pod_labels(defaults, AUTHSERVER).items()
    assert {port["port"] for rule in spec["ingress"] for port in rule["ports"]} == {8090, 8091}


@pytest.mark.parametrize(
    ("values", "edge"),
    [
        ({}, [namespaces("traefik", chart_helm.NAMESPACE)]),
        (SOMEBODY, [namespaces("ingress", "ingress-internal")]),
    ],
)
def test_only_the_edge_asks_about_keys(
    helm: Helm, values: Values, edge: list[dict[str, Any]]
) -> None:
    """The bundled one, or the platform's own."""
    assert peers_of(spec_of(helm.template(values)), 8090) == edge


@pytest.mark.parametrize(
    ("values", "scrapers"),
    [
        ({}, [namespaces("monitoring")]),
        (SOMEBODY, [namespaces("monitoring", "grafana")]),
        (NOBODY, []),
    ],
)
def test_only_the_operator_and_scrapers_read_its_figures(
    helm: Helm, values: Values, scrapers: list[dict[str, Any]]
) -> None:
    """When keys were last used is for the operator of this release, in this namespace."""
    objects = helm.template(values)

    operator, *others = peers_of(spec_of(objects), 8091)

    assert others == scrapers
    assert operator.keys() == {"podSelector"}
    selected = operator["podSelector"]["matchLabels"]
    assert selected.items() <= pod_labels(objects, OPERATOR).items()
    assert not selected.items() <= pod_labels(objects, AUTHSERVER).items()


@pytest.mark.parametrize("values", [{}, SOMEBODY, NOBODY])
def test_no_policy_of_the_chart_lets_everybody_in(helm: Helm, values: Values) -> None:
    """A rule without peers means the whole world, which only the edge's public ports are for."""
    policies = chart_helm.of_kind(helm.template(values), "NetworkPolicy")

    assert {AUTHSERVER, OPERATOR} <= {policy["metadata"]["name"] for policy in policies}
    for policy in policies:
        for rule in policy["spec"]["ingress"]:
            name, ports = policy["metadata"]["name"], {port["port"] for port in rule["ports"]}
            assert rule.get("from") or (name, ports) == (EDGE, {8000, 8443})
