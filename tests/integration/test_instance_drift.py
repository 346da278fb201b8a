"""Children that others change or leave behind, on a platform that runs: noticed and mended."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from customer import instance, order, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.waiting import states
from privatellm_local.platform.rbac import tenant_binding

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


def _foreign_service(namespace: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    }


async def _conditions(client: KubeClient, namespace: str) -> dict[str, dict[str, Any]]:
    seen = await client.get(kinds.LLM_INSTANCE, "chat", namespace) or {}
    return {c["type"]: c for c in seen.get("status", {}).get("conditions", ())}


async def test_names_in_the_way_are_told_together_and_used_when_they_are_free(
    client: KubeClient, namespace: str
) -> None:
    """A message that names one of two would send its reader round twice."""
    budget = {
        "apiVersion": kinds.POD_DISRUPTION_BUDGET.api_version,
        "kind": kinds.POD_DISRUPTION_BUDGET.name,
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    await client.create(kinds.SERVICE, _foreign_service(namespace))
    await client.create(kinds.POD_DISRUPTION_BUDGET, budget)
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "chat", replicas=0))

    async def told() -> bool:
        accepted = (await _conditions(client, namespace)).get("Accepted", {})
        assert accepted.get("reason") == "ChildConflict", accepted
        assert f"PodDisruptionBudget {NAME}, Service {NAME}" in accepted["message"]
        return True

    await eventually(told, within=60, what="both names in one message")
    await client.delete(kinds.SERVICE, NAME, namespace)
    await client.delete(kinds.POD_DISRUPTION_BUDGET, NAME, namespace)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")


@pytest.fixture
async def strange_namespace(client: KubeClient) -> AsyncIterator[str]:
    """A namespace that is not onboarded."""
    name = f"strange-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(kinds.NAMESPACE, manifest)
    yield name
    await client.delete(kinds.NAMESPACE, name)


async def test_onboarding_tells_the_next_trouble_and_mending_it_serves(
    client: KubeClient, strange_namespace: str
) -> None:
    """An order that failed for long is looked at by its events, and not when its back-off is over."""
    await client.create(kinds.SERVICE, _foreign_service(strange_namespace))
    await client.create(kinds.LLM_INSTANCE, instance(strange_namespace, "chat", replicas=0))

    async def refused() -> bool:
        seen = await client.get(kinds.LLM_INSTANCE, "chat", strange_namespace) or {}
        status = seen.get("status", {})
        routed = (await _conditions(client, strange_namespace)).get("RouteProgrammed", {})
        assert (routed.get("reason"), status.get("phase")) == ("WriteRefused", "Failed")
        assert "endpoint" not in status
        return True

    await eventually(refused, within=60, what="a stopped order that says what was refused")
    await client.create(kinds.ROLE_BINDING, tenant_binding(strange_namespace))

    async def told() -> bool:
        accepted = (await _conditions(client, strange_namespace))["Accepted"]
        return bool(accepted["reason"] == "ChildConflict")

    await eventually(told, within=60, what="the conflict behind the refusal")
    await client.delete(kinds.SERVICE, NAME, strange_namespace)
    await until_phase(client, kinds.LLM_INSTANCE, strange_namespace, "chat", "Stopped")
