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

pytestmark = pytest.mark.integration

NAME = "chat-llama"


async def _status(client: KubeClient, namespace: str) -> dict[str, Any]:
    found = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
    assert found is not None
    status: dict[str, Any] = found["status"]
    return status


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(c for c in status["conditions"] if c["type"] == kind)


def _foreign(namespace: str, kind: kinds.Kind, **metadata: Any) -> Manifest:
    spec: Manifest = {"ports": [{"port": 80}]}
    if kind is kinds.NETWORK_POLICY:
        spec = {"podSelector": {}}
    named = {"name": NAME, "namespace": namespace} | metadata
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": named, "spec": spec}


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
