"""Deleting a model while instances use it."""

from pathlib import Path

import pytest

from cache_world import (
    add_model,
    demo_weights,
    digest_of,
    linked,
    order,
    pods_of,
    until_gone,
)
from customer import until_condition, until_phase
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


async def test_a_model_in_use_stays_names_its_users_and_breaks_nobody(
    client: KubeClient, namespace: str, shared_files: Path
) -> None:
    """Servers run on, new orders are refused, and the model goes with its last user."""
    weights = linked(await demo_weights(client), shared_files)
    model = await add_model(client, weights.as_uri(), sha256=digest_of(weights))
    await order(client, namespace, "chat", model)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    [before] = await pods_of(client, namespace, "chat")

    await client.delete(kinds.LLM_MODEL, model)
    message = await until_condition(client, kinds.LLM_MODEL, None, model, "Removable", "InUse")
    assert f"{namespace}/chat" in message

    await order(client, namespace, "late", model)
    await until_condition(client, kinds.LLM_INSTANCE, namespace, "late", "Accepted", "ModelLeaves")
    await client.delete(kinds.LLM_INSTANCE, "late", namespace)

    # A server that restarts meanwhile is an ordinary restart.
    await client.delete(kinds.POD, before["metadata"]["name"], namespace)
    await until_condition(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready", "Ready")

    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)
    await until_gone(client, kinds.LLM_MODEL, None, model)


async def test_a_model_goes_when_its_last_user_chose_another_one(
    client: KubeClient, namespace: str, shared_files: Path
) -> None:
    """Not only an instance's end frees its model."""
    weights = linked(await demo_weights(client), shared_files)
    model = await add_model(client, weights.as_uri(), sha256=digest_of(weights))
    await order(client, namespace, "chat", model, replicas=0)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")
    await client.delete(kinds.LLM_MODEL, model)
    await until_condition(client, kinds.LLM_MODEL, None, model, "Removable", "InUse")

    patch = {"spec": {"model": "gemma-3-270m"}}
    await client.patch(kinds.LLM_INSTANCE, "chat", namespace, patch)

    await until_gone(client, kinds.LLM_MODEL, None, model)


async def test_an_unused_model_goes_at_once(client: KubeClient) -> None:
    """Nothing holds what nobody uses."""
    model = await add_model(client, "https://models.example/m.gguf")
    await until_condition(client, kinds.LLM_MODEL, None, model, "DigestKnown", "NotUsed")
    await client.delete(kinds.LLM_MODEL, model)
    await until_gone(client, kinds.LLM_MODEL, None, model)
