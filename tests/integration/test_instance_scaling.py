"""Scaling as a customer does it, with streams that run meanwhile."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator

import httpx
import pytest

from customer import (
    MODEL,
    Credentials,
    ask_for_key,
    order,
    question,
    until_condition,
    until_phase,
    until_routed,
)
from embedded import Environment, kubectl
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

STREAMS = 4
TOKENS = 150
"""Long enough to outlast the start and the end of a server."""


class Stream:
    """One streamed completion and what came of it."""

    def __init__(self, http: httpx.AsyncClient, credentials: Credentials) -> None:
        self.lines: list[str] = []
        self.task = asyncio.create_task(self._read(http, credentials))

    @property
    def is_whole(self) -> bool:
        """Whether the server itself ended the stream."""
        return self.lines[-1:] == ["data: [DONE]"]

    async def _read(self, http: httpx.AsyncClient, credentials: Credentials) -> None:
        asked = question() | {"stream": True, "max_tokens": TOKENS, "ignore_eos": True, "stop": []}
        url = f"{credentials.base_url}/chat/completions"
        async with http.stream(
            "POST", url, headers=credentials.headers, json=asked, timeout=200
        ) as answer:
            assert answer.status_code == 200, await answer.aread()
            self.lines += [line async for line in answer.aiter_lines() if line]


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A client that opens a connection for each request, as many customers would."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(limits=limits) as connected:
        yield connected


@pytest.fixture
async def small_model(client: KubeClient) -> AsyncIterator[str]:
    """The demo's model with so small a request that three servers fit any machine."""
    known = await client.get(kinds.LLM_MODEL, MODEL)
    assert known is not None
    name = f"small-{secrets.token_hex(4)}"
    spec = known["spec"] | {"resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    await client.create(kinds.LLM_MODEL, known | {"metadata": {"name": name}, "spec": spec})
    yield name
    await client.delete(kinds.LLM_MODEL, name)


class Servers:
    """The model servers of one instance, asked directly, as the platform's scraper would."""

    def __init__(self, client: KubeClient, namespace: str, key: str) -> None:
        self._client = client
        self._namespace = namespace
        self._headers = {"Authorization": f"Bearer {key}"}

    @classmethod
    async def of(cls, client: KubeClient, namespace: str, name: str) -> "Servers":
        """Return the servers of an instance."""
        secret = await client.get(kinds.SECRET, f"{name}-llama-key", namespace)
        assert secret is not None
        return cls(client, namespace, base64.b64decode(secret["data"]["api-key"]).decode())

    async def gauge(self, name: str) -> dict[str, float]:
        """Return a metric of every pod by the pod's name."""
        pods = (await self._client.list(kinds.POD, self._namespace)).items
        async with httpx.AsyncClient() as http:
            return {
                pod["metadata"]["name"]: await self._read(http, pod["status"]["podIP"], name)
                for pod in pods
            }

    async def _read(self, http: httpx.AsyncClient, address: str, name: str) -> float:
        url = f"http://{address}:8000/metrics"
        text = (await http.get(url, headers=self._headers, timeout=60)).text
        line = next(line for line in text.splitlines() if line.startswith(f"llamacpp:{name} "))
        return float(line.rpartition(" ")[2])


async def _scale(environment: Environment, namespace: str, replicas: int) -> None:
    await kubectl(
        environment, "scale", "llmi", "chat", f"--replicas={replicas}", f"--namespace={namespace}"
    )


async def _until_ready(client: KubeClient, namespace: str, ready: str) -> None:
    async def reached() -> bool:
        seen = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
        status = (seen or {}).get("status", {})
        assert (status.get("ready"), status.get("phase")) == (ready, "Ready"), status
        return True

    await eventually(reached, within=120, what=f"{ready} servers")


async def test_scaling_to_three_and_back_cuts_no_stream(
    client: KubeClient,
    environment: Environment,
    namespace: str,
    small_model: str,
    http: httpx.AsyncClient,
) -> None:
    """Every replica serves, and a server that goes away finishes what it has."""
    await order(client, namespace, "chat", model=small_model)
    key = await ask_for_key(client, namespace, "chat", "chat")
    await until_routed(http, key)
    servers = await Servers.of(client, namespace, "chat")

    growing = [Stream(http, key) for _ in range(2)]
    await _scale(environment, namespace, 3)
    await _until_ready(client, namespace, "3/3")
    await asyncio.gather(*(stream.task for stream in growing))
    assert [stream.is_whole for stream in growing] == [True] * len(growing)

    shrinking = [Stream(http, key) for _ in range(STREAMS)]

    async def all_busy() -> bool:
        busy = await servers.gauge("requests_processing")
        assert len(busy) == 3
        assert all(busy.values()), busy
        return True

    await eventually(all_busy, within=60, what="a stream on every replica")
    await _scale(environment, namespace, 1)
    await asyncio.gather(*(stream.task for stream in shrinking))
    assert [stream.is_whole for stream in shrinking] == [True] * STREAMS

    await _until_ready(client, namespace, "1/1")

    async def one_left() -> bool:
        return len((await client.list(kinds.POD, namespace)).items) == 1

    await eventually(one_left, within=60, what="one pod")


async def test_the_scale_subresource_tells_an_autoscaler_what_it_needs(
    client: KubeClient, namespace: str
) -> None:
    """Wanted and existing replicas, and a selector that finds exactly the instance's pods."""
    await order(client, namespace, "chat")
    await order(client, namespace, "other", phase="Stopped", replicas=0)
    path = kinds.LLM_INSTANCE.path(namespace, "chat", "scale")
    scale = await client.request("GET", path)

    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (1, 1)
    pods = await client.list(kinds.POD, namespace, labels=scale["status"]["selector"])
    assert len(pods.items) == 1

    await client.request("PUT", path, body=scale | {"spec": {"replicas": 0}})
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")


async def test_more_replicas_than_the_platform_allows_leave_what_runs_alone(
    client: KubeClient, environment: Environment, namespace: str
) -> None:
    """An autoscaler without bounds meets the platform's."""
    await order(client, namespace, "chat")
    await _scale(environment, namespace, 1_000)

    await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "chat", "Accepted", "TooManyReplicas"
    )
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Failed")
    deployment = await client.get(kinds.DEPLOYMENT, "chat-llama", namespace)
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 1
