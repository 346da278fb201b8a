"""What a customer does: order an instance, ask for a key, read the Secret, send a request."""

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any

import httpx

from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for

MODEL = "gemma-3-270m"
READY_SECONDS = 90.0
"""A cold load of the demo's model takes a few seconds; a busy machine may need far longer."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The three keys of a token Secret."""

    api_key: str = field(repr=False)
    url: str
    base_url: str

    @property
    def headers(self) -> dict[str, str]:
        """The header that the OpenAI API asks for."""
        return {"Authorization": f"Bearer {self.api_key}"}


def instance(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """Return an LLMInstance manifest."""
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": "LLMInstance",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"model": MODEL} | spec,
    }


def token_request(namespace: str, name: str, instance_name: str, **spec: Any) -> dict[str, Any]:
    """Return an APITokenRequest manifest."""
    return {
        "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
        "kind": "APITokenRequest",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"instanceName": instance_name} | spec,
    }


async def until_phase(
    client: KubeClient, kind: kinds.Kind, namespace: str, name: str, phase: str
) -> dict[str, Any]:
    """Wait until an object is in a phase and return it."""
    last: dict[str, Any] = {}

    def reached(state: dict[str, Any] | None) -> bool:
        last.update(state or {})
        return bool((state or {}).get("status", {}).get("phase") == phase)

    try:
        async with asyncio.timeout(READY_SECONDS):
            seen = await wait_for(client, kind, name, namespace, reached)
    except TimeoutError:
        raise AssertionError(f"{kind.name} {name} is not {phase}: {last.get('status')}") from None
    assert seen is not None
    return seen


async def until_condition(
    client: KubeClient,
    kind: kinds.Kind,
    namespace: str | None,
    name: str,
    condition: str,
    reason: str,
) -> str:
    """Wait until a condition has a reason and return its message.

    A phase may have an earlier cause for a moment (pods of others still hold the node's room), so a test
    that is about a cause waits for the cause and not for the phase.
    """

    async def told() -> str:
        seen = (await client.get(kind, name, namespace) or {}).get("status", {})
        found: dict[str, Any] = next(
            (c for c in seen.get("conditions", ()) if c["type"] == condition), {}
        )
        assert found.get("reason") == reason, seen
        return str(found.get("message")) or "-"

    return await eventually(told, within=READY_SECONDS, what=f"{condition} with reason {reason}")


async def order(
    client: KubeClient, namespace: str, name: str, *, phase: str = "Ready", **spec: Any
) -> dict[str, Any]:
    """Order an instance and wait until it is ready (or in another phase)."""
    await client.create(kinds.LLM_INSTANCE, instance(namespace, name, **spec))
    return await until_phase(client, kinds.LLM_INSTANCE, namespace, name, phase)


async def ask_for_key(
    client: KubeClient, namespace: str, name: str, instance_name: str, **spec: Any
) -> Credentials:
    """Ask for a key, wait until it is ready and read it from the Secret."""
    request = token_request(namespace, name, instance_name, **spec)
    await client.create(kinds.API_TOKEN_REQUEST, request)
    ready = await until_phase(client, kinds.API_TOKEN_REQUEST, namespace, name, "Ready")
    return await read_credentials(client, namespace, ready["status"]["secretName"])


async def until_routed(http: httpx.AsyncClient, credentials: Credentials) -> None:
    """Wait until Traefik knows the way, which takes it a moment after the Ingress exists."""

    async def known() -> bool:
        url = f"{credentials.base_url}/models"
        return (await http.get(url, headers=credentials.headers)).status_code != 404

    await eventually(known, within=10, what="Traefik's route")


async def read_credentials(client: KubeClient, namespace: str, secret_name: str) -> Credentials:
    """Read the three keys of a token Secret."""
    secret = await client.get(kinds.SECRET, secret_name, namespace)
    assert secret is not None
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    return Credentials(data["OPENAI_API_KEY"], data["OPENAI_API_URL"], data["OPENAI_BASE_URL"])


def question(text: str = "What is the capital of France?") -> dict[str, Any]:
    """Return a chat request that the demo's small base model answers in one line."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 24,
        "stop": ["\n"],
    }


async def chat(
    http: httpx.AsyncClient, credentials: Credentials, text: str = "What is the capital of France?"
) -> httpx.Response:
    """Send one chat completion through the edge."""
    url = f"{credentials.base_url}/chat/completions"
    return await http.post(url, headers=credentials.headers, json=question(text), timeout=60)
