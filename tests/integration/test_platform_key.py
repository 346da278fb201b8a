"""A platform key that others know is replaced: what they derive from it opens nothing any more.

Operator and ForwardAuth service read it, so this is also part of the answer to a take-over of either.
"""

import base64
from collections.abc import AsyncIterator

import httpx
import pytest

from customer import ask_for_key, chat, order
from embedded import Environment, kubectl
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm_local.platform.facts import PLATFORM_KEY, SYSTEM_NAMESPACE
from privatellm_local.platform.platform_key import new_platform_key

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]

PARTS = ("deployment/private-llm-operator", "deployment/private-llm-authserver")
ROLLED_SECONDS = 180.0
"""Both parts start anew, and then a model server does."""


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A client that opens a connection for each request."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(limits=limits, timeout=30) as connected:
        yield connected


async def backend_key(client: KubeClient, namespace: str) -> str:
    """Return the key that the instance's server wants."""
    secret = await client.get(kinds.SECRET, "chat-llama-key", namespace)
    assert secret is not None
    return base64.b64decode(secret["data"]["api-key"]).decode()


async def addresses(client: KubeClient, namespace: str) -> list[str]:
    """Return where the instance's servers listen, without those that leave."""
    pods = (await client.list(kinds.POD, namespace)).items
    return [
        pod["status"]["podIP"]
        for pod in pods
        if pod["status"].get("podIP") and "deletionTimestamp" not in pod["metadata"]
    ]


async def ask_past_the_edge(http: httpx.AsyncClient, address: str, key: str) -> int:
    """Ask a model server as somebody who knows a backend key; 0 while nobody listens."""
    headers = {"Authorization": f"Bearer {key}"}
    body = {"prompt": "x", "max_tokens": 1}
    try:
        url = f"http://{address}:8000/v1/completions"
        return (await http.post(url, headers=headers, json=body)).status_code
    except httpx.TransportError:
        return 0


async def replace_the_platform_key(environment: Environment, client: KubeClient) -> None:
    """Do what the page about it says."""
    await client.delete(kinds.SECRET, PLATFORM_KEY, SYSTEM_NAMESPACE)
    await client.create(kinds.SECRET, new_platform_key())
    in_place = ("--namespace", SYSTEM_NAMESPACE)
    await kubectl(environment, *in_place, "rollout", "restart", *PARTS)
    for part in PARTS:
        await kubectl(environment, *in_place, "rollout", "status", part, "--timeout=120s")


async def test_after_the_platform_key_is_replaced_the_old_backend_keys_open_nothing(
    environment: Environment, client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """The operator rolls the servers by itself, and the customer's key opens the new one."""
    await order(client, namespace, "chat")
    credentials = await ask_for_key(client, namespace, "app", "chat")
    old = await backend_key(client, namespace)
    [before] = await addresses(client, namespace)
    assert await ask_past_the_edge(http, before, old) == 200

    await replace_the_platform_key(environment, client)

    async def rolled() -> bool:
        new = await backend_key(client, namespace)
        there = await addresses(client, namespace)
        assert new != old
        assert [await ask_past_the_edge(http, each, new) for each in there] == [200]
        assert [await ask_past_the_edge(http, each, old) for each in there] == [401]
        return True

    await eventually(rolled, within=ROLLED_SECONDS, what="a server that wants another key")

    async def answered() -> bool:
        return (await chat(http, credentials)).status_code == 200

    await eventually(answered, within=60, what="an answer to the customer's key")
