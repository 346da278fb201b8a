"""Children that others change or leave behind, on a platform that runs: noticed and mended."""

import contextlib
from typing import Any

import pytest

from customer import instance, order, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.waiting import states

pytestmark = pytest.mark.integration

NAME = "chat-llama"


def _owned(found: Manifest | None) -> tuple[Any, Any]:
    """Return what is the operator's alone in a child."""
    assert found is not None
    return found.get("spec"), found["metadata"].get("ownerReferences")


async def test_additions_and_a_missing_owner_are_mended(client: KubeClient, namespace: str) -> None:
    """A pod on the host's network, a second container, an Ingress without its owner."""
    await order(client, namespace, "chat", phase="Stopped", replicas=0)
    touched = (kinds.DEPLOYMENT, kinds.INGRESS)
    before = [_owned(await client.get(kind, NAME, namespace)) for kind in touched]
    pod = {"hostNetwork": True, "nodeSelector": {"disk": "ssd"}}
    await client.patch(kinds.DEPLOYMENT, NAME, namespace, {"spec": {"template": {"spec": pod}}})
    await client.patch(kinds.INGRESS, NAME, namespace, {"metadata": {"ownerReferences": None}})

    async def mended() -> bool:
        assert [_owned(await client.get(kind, NAME, namespace)) for kind in touched] == before
        return True

    await eventually(mended, within=60, what="the children of before")


async def test_an_order_right_after_the_deletion_of_one_of_its_name_is_served(
    client: KubeClient, namespace: str
) -> None:
    """It may have to wait for what the former left; it never fails because of it."""
    await order(client, namespace, "chat", phase="Stopped", replicas=0)
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)

    async def gone() -> bool:
        return await client.get(kinds.LLM_INSTANCE, "chat", namespace) is None

    await eventually(gone, within=60, what="the end of the former instance")
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "chat", replicas=0))

    phases: list[str] = []
    stream = states(client, kinds.LLM_INSTANCE, "chat", namespace)
    async with contextlib.aclosing(stream) as seen:
        async for state in seen:
            phases.append((state or {}).get("status", {}).get("phase", ""))
            if phases[-1] == "Stopped":
                break
    assert "Failed" not in phases
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")


async def test_a_name_in_the_way_is_told_and_used_when_it_is_free(
    client: KubeClient, namespace: str
) -> None:
    """All of what is in the way at once, also for an order that was refused for another reason before."""
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    }
    budget = {
        "apiVersion": kinds.POD_DISRUPTION_BUDGET.api_version,
        "kind": kinds.POD_DISRUPTION_BUDGET.name,
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    await client.create(kinds.SERVICE, foreign)
    await client.create(kinds.POD_DISRUPTION_BUDGET, budget)
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "chat", replicas=0))

    async def told() -> bool:
        seen = await client.get(kinds.LLM_INSTANCE, "chat", namespace) or {}
        conditions = {c["type"]: c for c in seen.get("status", {}).get("conditions", ())}
        accepted = conditions.get("Accepted", {})
        assert accepted.get("reason") == "ChildConflict", accepted
        assert f"PodDisruptionBudget {NAME}, Service {NAME}" in accepted["message"]
        return True

    await eventually(told, within=60, what="both names in one message")
    await client.delete(kinds.SERVICE, NAME, namespace)
    await client.delete(kinds.POD_DISRUPTION_BUDGET, NAME, namespace)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")
