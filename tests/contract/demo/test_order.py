"""The demo's order against a real API server, on which the test plays the operator."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for
from privatellm_local.demo import DemoCredentials, DemoError, Ended, order_demo
from privatellm_local.demo.order import SECRET_KEYS
from token_control_plane import control_plane

DEADLINE_SECONDS = 20.0

SECRET = {
    "OPENAI_BASE_URL": "http://127.0.0.1:8080/llm/slug/v1",
    "OPENAI_API_URL": "http://127.0.0.1:8080/llm/slug",
    "OPENAI_API_KEY": "pllm_key_secret",
}


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run a control plane with our kinds."""
    with control_plane(tmp_path_factory.mktemp("control-plane")) as path:
        yield path


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """Connect, and leave no order behind."""
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected
        for kind in (kinds.API_TOKEN_REQUEST, kinds.LLM_INSTANCE):
            await connected.delete(kind, "demo", "demo")
        await connected.delete(kinds.SECRET, "demo-token", "demo")


async def answer(client: KubeClient, kind: kinds.Kind, **status: Any) -> None:
    """Play the operator: look at the object once it is there and write its status."""
    seen = await wait_for(client, kind, "demo", "demo", lambda state: state is not None)
    assert seen is not None
    written = {"observedGeneration": seen["metadata"]["generation"], **status}
    await client.patch(kind, "demo", "demo", {"status": written}, subresource="status")


def condition(kind: str, message: str) -> dict[str, Any]:
    """Make a condition that does not hold."""
    return {
        "type": kind,
        "status": "False",
        "reason": "SomeReason",
        "message": message,
        "lastTransitionTime": "2026-11-30T08:00:00Z",
    }


async def write_secret(client: KubeClient, *keys: str) -> None:
    """Play the operator: write the key's Secret."""
    data = {key: base64.b64encode(SECRET[key].encode()).decode() for key in keys}
    metadata = {"name": "demo-token", "namespace": "demo"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    await client.create(kinds.SECRET, body)


async def test_an_order_ends_with_the_keys_of_the_secret(client: KubeClient) -> None:
    """Instance, key and Secret; what is waited for is told whenever it changes."""
    told: list[str] = []
    order = asyncio.create_task(order_demo(client, told.append, DEADLINE_SECONDS))

    starting = [condition("Ready", "The model is loading.")]
    await answer(client, kinds.LLM_INSTANCE, phase="Provisioning", conditions=starting)
    await answer(client, kinds.LLM_INSTANCE, phase="Ready", conditions=[])
    await write_secret(client, *SECRET_KEYS)
    await answer(client, kinds.API_TOKEN_REQUEST, phase="Ready", secretName="demo-token")

    assert await order == DemoCredentials(
        SECRET["OPENAI_BASE_URL"], SECRET["OPENAI_API_URL"], SECRET["OPENAI_API_KEY"]
    )
    assert len(told) == len(set(told))


async def test_ordering_again_changes_nothing(client: KubeClient) -> None:
    """A second run finds what the first one ordered."""
    order = asyncio.create_task(order_demo(client, lambda _: None, DEADLINE_SECONDS))
    await answer(client, kinds.LLM_INSTANCE, phase="Ready")
    await write_secret(client, *SECRET_KEYS)
    await answer(client, kinds.API_TOKEN_REQUEST, phase="Ready", secretName="demo-token")
    first = await order
    before = await client.get(kinds.LLM_INSTANCE, "demo", "demo")

    assert await order_demo(client, lambda _: None, DEADLINE_SECONDS) == first
    assert await client.get(kinds.LLM_INSTANCE, "demo", "demo") == before


async def test_a_demo_that_its_user_has_stopped_is_left_stopped(client: KubeClient) -> None:
    """Whatever the operator says of it, and for as long as nobody starts it again."""
    order = asyncio.create_task(order_demo(client, lambda _: None, DEADLINE_SECONDS))
    await answer(client, kinds.LLM_INSTANCE, phase="Ready")
    stop = {"spec": {"replicas": 0}}
    await client.patch(kinds.LLM_INSTANCE, "demo", "demo", stop, subresource="scale")
    order.cancel()

    assert await order_demo(client, lambda _: None, DEADLINE_SECONDS) is Ended.INSTANCE
    seen = await client.get(kinds.LLM_INSTANCE, "demo", "demo")
    assert seen is not None
    assert seen["spec"]["replicas"] == 0


async def test_a_demo_without_a_key_is_not_asked(client: KubeClient) -> None:
    """A revoked key stays revoked; only its user may want another."""
    order = asyncio.create_task(order_demo(client, lambda _: None, DEADLINE_SECONDS))
    await answer(client, kinds.API_TOKEN_REQUEST, phase="Pending")
    revoke = {"spec": {"revoked": True}}
    await client.patch(kinds.API_TOKEN_REQUEST, "demo", "demo", revoke)
    order.cancel()

    assert await order_demo(client, lambda _: None, DEADLINE_SECONDS) is Ended.KEY


async def test_a_failed_instance_ends_the_order_with_its_condition(client: KubeClient) -> None:
    """The reason is the operator's sentence, not a time-out."""
    order = asyncio.create_task(
        order_demo(client, lambda _: None, DEADLINE_SECONDS, patience_seconds=0.2)
    )
    wrong = [condition("ModelAvailable", "The file has another SHA-256.")]
    await answer(client, kinds.LLM_INSTANCE, phase="Failed", conditions=wrong)

    with pytest.raises(DemoError, match="is Failed: The file has another SHA-256"):
        await order


async def test_a_failure_that_heals_does_not_end_the_order(client: KubeClient) -> None:
    """A failure left over from a crash gives way to what the operator sees now."""
    order = asyncio.create_task(order_demo(client, lambda _: None, DEADLINE_SECONDS))
    await answer(client, kinds.LLM_INSTANCE, phase="Failed")
    await answer(client, kinds.LLM_INSTANCE, phase="Ready")
    await write_secret(client, *SECRET_KEYS)
    await answer(client, kinds.API_TOKEN_REQUEST, phase="Ready", secretName="demo-token")

    ordered = await order
    assert isinstance(ordered, DemoCredentials)
    assert ordered.api_key == SECRET["OPENAI_API_KEY"]


async def test_an_order_that_takes_too_long_says_what_it_waited_for(client: KubeClient) -> None:
    """An operator that is not there is the last thing that was seen."""
    with pytest.raises(DemoError, match=r"not ready after 1 s.*operator has not looked at it yet"):
        await order_demo(client, lambda _: None, 1.0)


async def test_a_secret_without_all_keys_is_named(client: KubeClient) -> None:
    """A broken Secret is told apart from a missing one."""
    order = asyncio.create_task(order_demo(client, lambda _: None, DEADLINE_SECONDS))
    await answer(client, kinds.LLM_INSTANCE, phase="Ready")
    await write_secret(client, "OPENAI_API_KEY")
    await answer(client, kinds.API_TOKEN_REQUEST, phase="Ready", secretName="demo-token")

    with pytest.raises(DemoError, match=r"demo-token.*lacks OPENAI_BASE_URL, OPENAI_API_URL"):
        await order
