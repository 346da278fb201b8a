"""A tenant's NetworkPolicy must not open a model server, and is free otherwise."""

from typing import Any

import pytest

import admission_tenants as tenants
from admission_attempts import assert_refused_by, creating
from privatellm import labels
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration

OPEN: dict[str, Any] = {"ingress": [{"from": [{"podSelector": {}}]}]}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Return a selector of one expression."""
    given = {"values": list(values)} if values else {}
    return {"matchExpressions": [{"key": key, "operator": operator} | given]}


SELECTING: tuple[dict[str, Any], ...] = (
    {},
    {"matchLabels": {labels.NAME: labels.MODEL_SERVER}},
    {"matchLabels": {labels.PART_OF: labels.PART_OF_US, labels.INSTANCE: "anything"}},
    {"matchLabels": {labels.LLM_INSTANCE: "anything"}},
    expression(labels.MANAGED_BY, "Exists"),
    expression("pod-template-hash", "Exists"),
    expression("tenant.example/app", "DoesNotExist"),
    expression(labels.NAME, "In", "web", labels.MODEL_SERVER),
    expression(labels.NAME, "NotIn", "web"),
    expression("tenant.example/app", "NotIn", "web"),
    expression(labels.LLM_INSTANCE, "NotIn", "another"),
)
"""Selectors that a pod of some instance satisfies."""

SPARING: tuple[dict[str, Any], ...] = (
    {"matchLabels": {labels.NAME: "web"}},
    {"matchLabels": {labels.NAME: labels.MODEL_SERVER, "tenant.example/app": "web"}},
    {"matchLabels": {"tenant.example/app": "web"}},
    expression(labels.PART_OF, "NotIn", labels.PART_OF_US),
    expression(labels.MANAGED_BY, "DoesNotExist"),
    expression("tenant.example/app", "Exists"),
    expression(labels.NAME, "In", "web", "worker"),
)
"""Selectors that no pod of any instance satisfies."""


@pytest.mark.parametrize("selector", SELECTING, ids=str)
async def test_a_tenant_lets_nobody_in_to_a_model_server(
    selector: dict[str, Any], client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Every selector that a model server can satisfy is refused with an opening."""
    attempt = creating(
        "", kinds.NETWORK_POLICY, lambda ns: tenants.network_policy(ns, "thief", selector, **OPEN)
    )

    await assert_refused_by("network-policies", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("selector", SPARING, ids=str)
async def test_a_tenant_opens_its_own_pods(
    selector: dict[str, Any], tenant: KubeClient, scene: str
) -> None:
    """A selector that no model server satisfies is nobody's business."""
    policy = tenants.network_policy(scene, "own", selector, **OPEN)

    await tenant.create(kinds.NETWORK_POLICY, policy, dry_run=True)


@pytest.mark.parametrize("selector", SELECTING, ids=str)
async def test_a_tenant_closes_what_it_likes(
    selector: dict[str, Any], tenant: KubeClient, scene: str
) -> None:
    """A policy that lets nothing in opens nothing, such as the usual default of denying all."""
    policy = tenants.network_policy(scene, "deny-all", selector)

    await tenant.create(kinds.NETWORK_POLICY, policy, dry_run=True)
