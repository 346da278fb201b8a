"""Names that others have: what goes by itself is waited for, what stays is told, all of it and at once."""

from typing import Any

import pytest

from eventually import eventually
from operator_passes import InstanceOperator, order
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_operator.handlers.obstacles import ObstacleWatches
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.world.obstacles import Obstacle
from token_crash import FragileClient

pytestmark = pytest.mark.integration

NAME = "chat-llama"
FOREIGN_PARTS = {"tls", "defaultBackend"}
"""Of an Ingress; the operator's have none of them."""

CHECK = "private-llm-auth"
"""The middleware that asks the ForwardAuth service."""


async def _status(client: KubeClient, namespace: str) -> dict[str, Any]:
    found = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
    assert found is not None
    status: dict[str, Any] = found["status"]
    return status


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(c for c in status["conditions"] if c["type"] == kind)


CONTENTS: dict[kinds.Kind, Manifest] = {
    kinds.SERVICE: {"spec": {"ports": [{"port": 80}]}},
    kinds.NETWORK_POLICY: {"spec": {"podSelector": {}}},
    kinds.INGRESS: {
        "spec": {"defaultBackend": {"service": {"name": "theirs", "port": {"number": 80}}}}
    },
    kinds.SECRET: {"stringData": {"api-key": "theirs"}},
    kinds.MIDDLEWARE: {"spec": {"headers": {"customRequestHeaders": {"X-Theirs": "1"}}}},
}
"""What somebody else's objects say."""


def _foreign(namespace: str, kind: kinds.Kind, **metadata: Any) -> Manifest:
    named = {"name": NAME, "namespace": namespace} | metadata
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": named} | CONTENTS[kind]


async def test_everything_in_the_way_is_told_in_the_first_pass(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Nothing of it was known before the first write met one of them."""
    await client.create(kinds.SERVICE, _foreign(tenant, kinds.SERVICE))
    await client.create(kinds.NETWORK_POLICY, _foreign(tenant, kinds.NETWORK_POLICY))
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    await operator.reconcile(tenant, "chat")

    accepted = _condition(await _status(client, tenant), "Accepted")
    assert accepted["reason"] == "ChildConflict"
    assert f"NetworkPolicy {NAME}, Service {NAME}" in accepted["message"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kinds.INGRESS, NAME), (kinds.SECRET, f"{NAME}-key")],
    ids=["the route", "the backend key"],
)
async def test_what_a_customer_put_there_before_is_told_and_never_adopted(
    client: KubeClient, operator: InstanceOperator, tenant: str, kind: kinds.Kind, name: str
) -> None:
    """Nor changed in any way."""
    theirs = await client.create(kind, _foreign(tenant, kind, name=name))
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    for _ in range(2):
        await operator.reconcile(tenant, "chat")

    accepted = _condition(await _status(client, tenant), "Accepted")
    assert accepted["reason"] == "ChildConflict"
    assert f"{kind.name} {name}" in accepted["message"]
    assert await client.get(kind, name, tenant) == theirs


async def test_what_was_planted_in_an_ingress_is_gone_before_the_edge_serves_it(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Admission refuses it to customers; were it there, the edge would load a certificate for a moment."""
    ordered = await client.create(kinds.LLM_INSTANCE, order(tenant))
    owner = {"apiVersion": ordered["apiVersion"], "kind": ordered["kind"], "name": "chat"}
    owners = [owner | {"uid": ordered["metadata"]["uid"], "controller": True}]
    planted = _foreign(tenant, kinds.INGRESS, ownerReferences=owners)
    planted["spec"] |= {
        "ingressClassName": "other",
        "tls": [{"hosts": ["llm.example.com"], "secretName": "theirs"}],
    }
    version = (await client.create(kinds.INGRESS, planted))["metadata"]["resourceVersion"]

    async def served() -> bool:
        await operator.reconcile(tenant, "chat")
        live = await client.get(kinds.INGRESS, NAME, tenant)
        return live is not None and live["spec"]["ingressClassName"] == "traefik"

    await eventually(served, what="a route of the edge's class")
    seen = [
        event.object["spec"]
        async for event in client.watch(
            kinds.INGRESS, tenant, resource_version=version, timeout_seconds=1
        )
        if event.type == "MODIFIED"
    ]
    assert [spec for spec in seen if spec["ingressClassName"] == "traefik"]
    assert not [s for s in seen if s["ingressClassName"] == "traefik" and s.keys() & FOREIGN_PARTS]


async def _told(client: KubeClient, namespace: str) -> list[tuple[str, str, str]]:
    events = (await client.list(kinds.EVENT, namespace)).items
    return [(each["reason"], each["type"], each["regarding"]["name"]) for each in events]


async def test_a_middleware_of_others_in_our_namespace_is_taken_over_and_that_is_told(
    client: KubeClient, fragile: FragileClient, system: str
) -> None:
    """Left alone it would be a check that checks nothing, because the chain goes by names."""
    theirs = _foreign(system, kinds.MIDDLEWARE, name=CHECK)
    await client.create(kinds.MIDDLEWARE, theirs)
    operator = InstanceOperator(fragile, system)

    await operator.equip()

    taken = await client.get(kinds.MIDDLEWARE, CHECK, system)
    assert taken is not None
    assert taken["spec"].keys() == {"forwardAuth"}
    assert await _told(client, system) == [("MiddlewareTakenOver", "Warning", CHECK)]
    fragile.forget()
    await operator.equip()
    assert fragile.writes == []


async def test_a_middleware_that_was_made_to_look_like_others_is_taken_back_and_that_is_told(
    client: KubeClient, operator: InstanceOperator, system: str
) -> None:
    """Without its label the operator does not see it, and whoever took that may have changed more."""
    assert await _told(client, system) == []
    changed = {
        "metadata": {"labels": {labels.MANAGED_BY: None}},
        "spec": {"forwardAuth": {"address": "http://theirs.example"}},
    }
    await client.patch(kinds.MIDDLEWARE, CHECK, system, changed)

    await operator.equip()

    taken = await client.get(kinds.MIDDLEWARE, CHECK, system)
    assert taken is not None
    assert taken["spec"]["forwardAuth"]["address"].endswith("/auth/verify")
    assert await _told(client, system) == [("MiddlewareTakenOver", "Warning", CHECK)]


async def test_what_a_gone_instance_owns_is_waited_for(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """The order is accepted and on its way; it goes on when the name is free."""
    gone = {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": kinds.LLM_INSTANCE.name,
        "name": "chat",
        "uid": "0e0e0e0e-0000-4000-8000-000000000000",
        "controller": True,
    }
    # The finalizer holds what the garbage collector would remove at any moment.
    held = {"ownerReferences": [gone], "finalizers": ["example.com/hold"]}
    await client.create(kinds.SERVICE, _foreign(tenant, kinds.SERVICE, **held))
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    await operator.reconcile(tenant, "chat")

    status = await _status(client, tenant)
    assert (status["phase"], status.get("endpoint")) == ("Provisioning", None)
    assert _condition(status, "Accepted")["status"] == "True"
    ready = _condition(status, "Ready")
    assert ready["reason"] == "PredecessorLeaves"
    assert f"Service {NAME}" in ready["message"]

    await client.patch(kinds.SERVICE, NAME, tenant, {"metadata": {"finalizers": []}})

    async def free() -> bool:
        return await client.get(kinds.SERVICE, NAME, tenant) is None

    await eventually(free, within=60, what="garbage collection")
    await operator.reconcile(tenant, "chat")
    assert (await _status(client, tenant))["phase"] == "Stopped"


async def test_an_obstacle_that_goes_asks_for_a_pass_at_once(
    client: KubeClient, tenant: str
) -> None:
    """By a watch of that one name; a change asks too, and nobody is asked about what is not in the way."""
    queue = WorkQueue()
    watches = ObstacleWatches(client, queue)
    key = Key(kinds.LLM_INSTANCE, tenant, "chat")
    created = await client.create(kinds.SERVICE, _foreign(tenant, kinds.SERVICE))
    other = _foreign(tenant, kinds.SERVICE, name="other")
    watches.watch(key, [Obstacle.of(kinds.SERVICE, created)])
    try:
        await client.create(kinds.SERVICE, other)
        assert len(queue) == 0
        await client.delete(kinds.SERVICE, NAME, tenant)

        async def asked() -> bool:
            return len(queue) == 1

        await eventually(asked, what="a pass that is asked for")
        watches.watch(key, ())
    finally:
        await watches.close()


async def test_a_stranger_with_our_labels_is_a_conflict(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Labels alone make nothing ours, and nothing that leaves."""
    marked = {labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR, labels.LLM_INSTANCE: "chat"}
    await client.create(kinds.SERVICE, _foreign(tenant, kinds.SERVICE, labels=marked))
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    await operator.reconcile(tenant, "chat")

    assert _condition(await _status(client, tenant), "Accepted")["reason"] == "ChildConflict"
