"""Order an instance and a key as a customer does, and wait until both are there.

Waiting is watching. The first thing that is seen may be left over from an earlier run of the
environment, and a failure may heal (a server that restarts), so an object that is broken gets a moment to
change before the order is given up. What its user has ended, the instance
or its key, is left as it is.
"""

import asyncio
import base64
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.llm_instance import LLMInstance
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import states
from privatellm_local.demo import names
from privatellm_local.demo.errors import DemoError
from privatellm_local.demo.verdict import Broken, Fulfilled, Kind, Pending, judge

FIELD_MANAGER = "privatellm-demo"

PATIENCE_WITH_FAILURE_SECONDS = 15.0
"""How long an object may stay broken before the order is given up."""

SECRET_KEYS = ("OPENAI_BASE_URL", "OPENAI_API_URL", "OPENAI_API_KEY")


class Ended(Enum):
    """What the demo's user has ended, so that there is nothing to ask."""

    INSTANCE = auto()
    """It is scaled to nothing."""

    KEY = auto()
    """It is revoked, which is for good."""


@dataclass(frozen=True, slots=True)
class DemoCredentials:
    """What the token Secret holds: all that a client needs."""

    base_url: str
    """The OpenAI API of the instance, as the SDKs want it."""
    url: str
    """The instance's endpoint."""
    api_key: str = field(repr=False)


async def order_demo(
    client: KubeClient,
    progress: Callable[[str], None],
    deadline_seconds: float,
    patience_seconds: float = PATIENCE_WITH_FAILURE_SECONDS,
) -> DemoCredentials | Ended:
    """Order the demo's instance and key, wait until both are ready, and read the Secret.

    Nothing is waited for when the demo's user has ended it; what was ended is returned then.

    Args:
        client: Acts as the customer.
        progress: Told in words what is waited for, whenever that changes.
        deadline_seconds: How long the whole order may take.
        patience_seconds: How long an object may stay broken.

    Raises:
        DemoError: It took too long or failed, with the reason of the objects' conditions.
        KubernetesError: The API server refused.
    """
    for manifest in manifests():
        await client.apply(kinds.kind_of(manifest), manifest, field_manager=FIELD_MANAGER)
    if (ended := await _ended(client)) is not None:
        return ended
    waiting = _Waiting(client, progress, patience_seconds)
    try:
        async with asyncio.timeout(deadline_seconds):
            await waiting.for_ready(LLMInstance, names.INSTANCE)
            token = await waiting.for_ready(APITokenRequest, names.TOKEN_REQUEST)
    except TimeoutError:
        raise DemoError(
            f"The demo is not ready after {deadline_seconds:.0f} s. {waiting.last.message}. "
            f"Look with `kubectl -n {names.NAMESPACE} describe llminstance {names.INSTANCE}`."
        ) from None
    return await _read_secret(client, token)


def manifests() -> tuple[dict[str, Any], ...]:
    """Return what the demo orders, in the order of its application."""
    return (
        {
            "apiVersion": kinds.NAMESPACE.api_version,
            "kind": kinds.NAMESPACE.name,
            "metadata": {"name": names.NAMESPACE},
        },
        {
            "apiVersion": kinds.LLM_INSTANCE.api_version,
            "kind": kinds.LLM_INSTANCE.name,
            "metadata": {"name": names.INSTANCE, "namespace": names.NAMESPACE},
            "spec": {"model": names.MODEL},
        },
        {
            "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
            "kind": kinds.API_TOKEN_REQUEST.name,
            "metadata": {"name": names.TOKEN_REQUEST, "namespace": names.NAMESPACE},
            "spec": {"instanceName": names.INSTANCE, "description": "the demo's own key"},
        },
    )


async def _ended(client: KubeClient) -> Ended | None:
    # The order says nothing of these fields, so applying it keeps what the user has chosen.
    instance = await client.get(kinds.LLM_INSTANCE, names.INSTANCE, names.NAMESPACE)
    if instance is not None and instance["spec"].get("replicas") == 0:
        return Ended.INSTANCE
    token = await client.get(kinds.API_TOKEN_REQUEST, names.TOKEN_REQUEST, names.NAMESPACE)
    if token is not None and token["spec"].get("revoked"):
        return Ended.KEY
    return None


class _Waiting:
    """Waits for one object after the other and remembers what it saw last."""

    def __init__(
        self, client: KubeClient, progress: Callable[[str], None], patience_seconds: float
    ) -> None:
        self._client = client
        self._progress = progress
        self._patience_seconds = patience_seconds
        self.last: Pending | Broken = Pending("Nothing was seen yet")

    async def for_ready(self, kind: type[Kind], name: str) -> Kind:
        """Return the object once it is ready."""
        async with aclosing(states(self._client, kind.KIND, name, names.NAMESPACE)) as seen:
            while True:
                try:
                    async with asyncio.timeout(self._patience()):
                        verdict = judge(kind, await anext(seen))
                except TimeoutError:
                    raise DemoError(f"The demo failed. {self.last.message}.") from None
                if isinstance(verdict, Fulfilled):
                    self.last = Pending(f"{kind.KIND.name} {name} is ready")
                    return verdict.object
                self._note(verdict)

    def _patience(self) -> float | None:
        return self._patience_seconds if isinstance(self.last, Broken) else None

    def _note(self, verdict: Pending | Broken) -> None:
        if verdict != self.last:
            self._progress(verdict.message)
        self.last = verdict


async def _read_secret(client: KubeClient, token: APITokenRequest) -> DemoCredentials:
    name = token.status.secret_name or ""
    secret = await client.get(kinds.SECRET, name, names.NAMESPACE) if name else None
    data = (secret or {}).get("data", {})
    missing = [key for key in SECRET_KEYS if key not in data]
    if missing:
        raise DemoError(
            f"The Secret {name or 'of the key'} in namespace {names.NAMESPACE} lacks "
            f"{', '.join(missing)}: delete the APITokenRequest {names.TOKEN_REQUEST} and run "
            "`privatellm up` again."
        )
    base_url, url, api_key = (base64.b64decode(data[key]).decode() for key in SECRET_KEYS)
    return DemoCredentials(base_url=base_url, url=url, api_key=api_key)
