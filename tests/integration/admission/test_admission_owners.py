"""Nobody but the operator makes an object part of an order."""

from typing import Any

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, assert_refused_by, creating, patching
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration

CONTROLLER = {
    "apiVersion": kinds.LLM_INSTANCE.api_version,
    "kind": "LLMInstance",
    "name": tenants.ORDER,
    "uid": "11111111-2222-3333-4444-555555555555",
    "controller": True,
}
BY_REQUEST = CONTROLLER | {"kind": "APITokenRequest", "name": "my-key"}


def owned(manifest: Any, owner: dict[str, Any] = CONTROLLER) -> Any:
    """Return an object that names an order as its controller."""
    return manifest | {"metadata": manifest["metadata"] | {"ownerReferences": [owner]}}


def policy_of_network(namespace: str) -> Any:
    """Return a NetworkPolicy that only closes."""
    return tenants.network_policy(namespace, "next-llama", {"matchLabels": {"app": "own"}})


PLANTED = (
    creating(
        "an Ingress of another class",
        kinds.INGRESS,
        lambda ns: owned(tenants.ingress(ns, "next-llama", "other")),
    ),
    creating("a Service", kinds.SERVICE, lambda ns: owned(tenants.service(ns, "next-llama", {}))),
    creating(
        "a backend key", kinds.SECRET, lambda ns: owned(tenants.secret(ns, "next-llama-key", {}))
    ),
    creating(
        "a token Secret",
        kinds.SECRET,
        lambda ns: owned(tenants.secret(ns, "my-key-token", {}), BY_REQUEST),
    ),
    creating(
        "a Deployment",
        kinds.DEPLOYMENT,
        lambda ns: owned(tenants.workload(kinds.DEPLOYMENT, ns, "next-llama", {})),
    ),
    creating("a NetworkPolicy", kinds.NETWORK_POLICY, lambda ns: owned(policy_of_network(ns))),
    patching(
        "an owner on an own Secret",
        kinds.SECRET,
        "web",
        {"metadata": {"ownerReferences": [CONTROLLER]}},
    ),
)

FREE = (
    creating(
        "a Secret that goes with an order",
        kinds.SECRET,
        lambda ns: owned(tenants.secret(ns, "own", {}), CONTROLLER | {"controller": False}),
    ),
    creating(
        "a Secret that somebody else's kind controls",
        kinds.SECRET,
        lambda ns: owned(
            tenants.secret(ns, "own", {}), CONTROLLER | {"apiVersion": "tenant.example/v1"}
        ),
    ),
)


@pytest.mark.parametrize("attempt", PLANTED, ids=str)
async def test_a_tenant_plants_nothing_for_the_operator_to_adopt(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """An object without our labels, which an order will control one day, is refused."""
    await assert_refused_by("owners", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("attempt", FREE, ids=str)
async def test_other_owners_are_everybodys_business(
    attempt: Attempt, tenant: KubeClient, scene: str
) -> None:
    """What goes with an order, or belongs to somebody else's kinds, is the tenant's own."""
    await attempt.send(tenant, scene)
