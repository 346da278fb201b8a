"""The main job on real parts: order, key, completion, and the end of each."""

import asyncio
import base64

import httpx
import pytest

from customer import ask_for_key, chat, order, until_condition, until_phase, until_routed
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.names import slug_of

pytestmark = pytest.mark.integration


async def test_a_customer_orders_an_llm_and_gets_a_completion(
    client: KubeClient, namespace: str, edge_url: str
) -> None:
    """Instance, token request, Secret, chat: nothing else is needed."""
    instance = await order(client, namespace, "chat")
    credentials = await ask_for_key(client, namespace, "chat-key", "chat")

    assert instance["status"]["slug"] == slug_of(instance["metadata"]["uid"])
    assert credentials.url == f"{edge_url}/llm/{instance['status']['slug']}"
    assert credentials.base_url == f"{credentials.url}/v1"
    assert instance["status"]["endpoint"] == credentials.url
    async with httpx.AsyncClient() as http:
        await until_routed(http, credentials)
        answer = await chat(http, credentials)
        assert answer.status_code == 200, answer.text
        assert "Paris" in answer.json()["choices"][0]["message"]["content"]
        models = await http.get(f"{credentials.base_url}/models", headers=credentials.headers)
        assert [model["id"] for model in models.json()["data"]] == ["gemma-3-270m"]


async def test_the_edge_refuses_strangers_and_neighbours(
    client: KubeClient, namespace: str
) -> None:
    """No token and a made-up one get 401, a key of another instance gets 403."""
    await asyncio.gather(
        order(client, namespace, "mine", phase="Stopped", replicas=0),
        order(client, namespace, "theirs", phase="Stopped", replicas=0),
    )
    mine, theirs = await asyncio.gather(
        ask_for_key(client, namespace, "mine", "mine"),
        ask_for_key(client, namespace, "theirs", "theirs"),
    )
    url = f"{mine.base_url}/models"
    async with httpx.AsyncClient() as http:
        await until_routed(http, mine)
        nobody = await http.get(url)
        stranger = await http.get(url, headers={"Authorization": f"Bearer {mine.api_key[:-1]}x"})
        neighbour = await http.get(url, headers=theirs.headers)
        owner = await http.get(url, headers=mine.headers)

    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    assert nobody.json()["error"]["code"] == "invalid_api_key"
    assert stranger.status_code == 401
    assert neighbour.status_code == 403
    assert neighbour.json()["error"]["code"] == "wrong_instance"
    assert owner.status_code == 503, "a stopped instance answers 503, never 404"


async def test_deleting_the_token_request_ends_the_key(client: KubeClient, namespace: str) -> None:
    """Once the request is gone every further use of its key is a 401."""
    await order(client, namespace, "brief", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "brief", "brief")
    async with httpx.AsyncClient(headers=credentials.headers) as http:
        await until_routed(http, credentials)
        assert (await http.get(f"{credentials.base_url}/models")).status_code == 503

        await client.delete(kinds.API_TOKEN_REQUEST, "brief", namespace)

        async def refused() -> bool:
            return (await http.get(f"{credentials.base_url}/models")).status_code == 401

        await eventually(refused, within=10, what="401 for a deleted key")


async def test_a_stopped_instance_starts_again_with_the_same_url_and_key(
    client: KubeClient, namespace: str
) -> None:
    """Scaling to 0 and back keeps slug and key."""
    first = await order(client, namespace, "pausing", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "pausing", "pausing")

    await client.patch(kinds.LLM_INSTANCE, "pausing", namespace, {"spec": {"replicas": 1}})

    again = await until_phase(client, kinds.LLM_INSTANCE, namespace, "pausing", "Ready")
    assert again["status"]["slug"] == first["status"]["slug"]
    async with httpx.AsyncClient() as http:
        await until_routed(http, credentials)
        assert (await chat(http, credentials)).status_code == 200


async def test_an_unknown_model_is_a_clear_failure_and_no_other_model_is_served(
    client: KubeClient, namespace: str
) -> None:
    """The condition names the model and what to do; no Deployment appears."""
    await order(client, namespace, "odd", phase="Failed", model="gpt-9")

    message = await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "odd", "Accepted", "UnknownModel"
    )
    assert "gpt-9" in message
    assert await client.get(kinds.DEPLOYMENT, "odd-llama", namespace) is None


async def test_a_wrong_checksum_is_named_in_the_condition(
    client: KubeClient, namespace: str
) -> None:
    """A model whose file does not have the promised digest never becomes ready, and says why."""
    catalogue = await client.get(kinds.LLM_MODEL, "gemma-3-270m")
    assert catalogue is not None
    name = f"broken-{namespace}"
    broken = {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": "LLMModel",
        "metadata": {"name": name},
        "spec": catalogue["spec"] | {"sha256": "0" * 64},
    }
    await client.create(kinds.LLM_MODEL, broken)
    try:
        await client.create(
            kinds.LLM_INSTANCE,
            {
                "apiVersion": kinds.LLM_INSTANCE.api_version,
                "kind": "LLMInstance",
                "metadata": {"name": "broken", "namespace": namespace},
                "spec": {"model": name},
            },
        )
        await until_condition(
            client, kinds.LLM_INSTANCE, namespace, "broken", "ModelAvailable", "ChecksumMismatch"
        )
    finally:
        await client.delete(kinds.LLM_MODEL, name)


async def test_the_key_at_rest_in_the_token_namespace_is_a_hash(
    client: KubeClient, namespace: str
) -> None:
    """What the edge may read holds no part of the secret."""
    await order(client, namespace, "hashed", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "hashed", "hashed")
    key_id, secret = credentials.api_key.split("_")[1:]

    verifier = await client.get(kinds.SECRET, f"v-{key_id}", "private-llm-tokens")

    assert verifier is not None
    assert verifier["immutable"] is True
    stored = [base64.b64decode(value).decode() for value in verifier["data"].values()]
    assert not any(secret[:43] in value for value in stored)
