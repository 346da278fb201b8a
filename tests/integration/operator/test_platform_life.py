"""The passes over what instances share, on a real API server: middlewares and chains of limits."""

import pytest

from operator_passes import (
    MODEL,
    InstanceOperator,
    catalogue_entry,
    order,
)
from privatellm.kube import KubeClient, kinds
from token_crash import FragileClient

pytestmark = [pytest.mark.deep, pytest.mark.integration]


async def test_middlewares_are_repaired_and_cost_nothing_when_settled(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, system: str
) -> None:
    """A redirected check is one write away from being right again."""
    await operator.equip()
    assert fragile.writes == []

    evil = {"spec": {"forwardAuth": {"address": "http://evil.example.com"}}}
    await client.patch(kinds.MIDDLEWARE, "private-llm-auth", system, evil)
    await client.delete(kinds.MIDDLEWARE, "private-llm-rate", system)
    await operator.equip()
    assert len(fragile.writes) == 2

    fragile.forget()
    added = {"spec": {"forwardAuth": {"authRequestHeaders": ["X"]}}}
    await client.patch(kinds.MIDDLEWARE, "private-llm-auth", system, added)
    await operator.equip()
    assert len(fragile.writes) == 1
    fragile.forget()
    await operator.equip()
    assert fragile.writes == []
    auth = await client.get(kinds.MIDDLEWARE, "private-llm-auth", system)
    assert auth is not None
    assert auth["spec"]["forwardAuth"]["address"].endswith("/auth/verify")
    assert "authRequestHeaders" not in auth["spec"]["forwardAuth"]


async def test_a_model_with_limits_brings_its_chain_and_takes_it_away(
    client: KubeClient, operator: InstanceOperator, tenant: str, system: str
) -> None:
    """The chain goes only when no route names it."""
    name = f"limited-{tenant}"
    await client.create(kinds.LLM_MODEL, catalogue_entry(name, limits={"requestsPerMinute": 5}))
    await operator.equip()
    await client.create(kinds.LLM_INSTANCE, order(tenant, model=name))
    await operator.reconcile(tenant, "chat")
    chain = f"private-llm-{name}"
    assert await client.get(kinds.MIDDLEWARE, chain, system) is not None

    await client.delete(kinds.LLM_MODEL, name)
    await operator.equip()
    assert await client.get(kinds.MIDDLEWARE, chain, system) is not None

    await client.patch(kinds.LLM_INSTANCE, "chat", tenant, {"spec": {"model": MODEL}})
    await operator.reconcile(tenant, "chat")
    await operator.equip()
    assert await client.get(kinds.MIDDLEWARE, chain, system) is None
