"""Models without a declared digest: the platform records one, and later fetches are held to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cache_world import (
    add_model,
    demo_weights,
    digest_of,
    fetch_jobs_of,
    linked,
    order,
    padded,
    pods_of,
    replace,
)
from customer import READY_SECONDS, until_condition, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
async def weights(client: KubeClient, shared_files: Path) -> Path:
    """A file of the demo's model that a test may replace."""
    return linked(await demo_weights(client), shared_files)


@pytest.fixture
async def model(client: KubeClient, namespace: str, weights: Path) -> AsyncIterator[str]:
    """A model without a digest; it goes after its users."""
    name = await add_model(client, weights.as_uri())
    yield name
    await client.delete(kinds.LLM_MODEL, name)


async def _recorded(client: KubeClient, model: str, digest: str) -> None:
    async def seen() -> bool:
        status = (await client.get(kinds.LLM_MODEL, model) or {}).get("status", {})
        return bool(status.get("sha256") == digest)

    await eventually(seen, within=READY_SECONDS, what=f"the record of {digest}")


async def _told(client: KubeClient, namespace: str, digest: str) -> None:
    async def told() -> bool:
        status = (await client.get(kinds.LLM_INSTANCE, "chat", namespace) or {})["status"]
        return bool(status["model"].get("sha256") == digest)

    await eventually(told, within=READY_SECONDS, what="the digest in the instance's status")


async def test_the_first_use_is_recorded_and_a_changed_file_is_refused_with_both_digests(
    client: KubeClient, namespace: str, weights: Path, model: str
) -> None:
    """Running servers are not restarted by the record; the next pod is held to it."""
    first = digest_of(weights)
    await order(client, namespace, "chat", model)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    [pod] = await pods_of(client, namespace, "chat")
    await _recorded(client, model, first)
    await until_condition(client, kinds.LLM_MODEL, None, model, "DigestKnown", "Recorded")
    await _told(client, namespace, first)
    assert [p["metadata"]["uid"] for p in await pods_of(client, namespace, "chat")] == [
        pod["metadata"]["uid"]
    ]
    assert await fetch_jobs_of(client, model) == []

    replace(weights)
    await client.delete(kinds.POD, pod["metadata"]["name"], namespace)

    message = await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "chat", "ModelAvailable", "ChecksumMismatch"
    )
    assert first in message
    assert digest_of(weights) in message


async def test_an_edited_source_is_a_first_use_again_and_rolls_the_servers(
    client: KubeClient, namespace: str, weights: Path, model: str, shared_files: Path
) -> None:
    """The record of the old source says nothing about the new one."""
    await order(client, namespace, "chat", model)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    await _recorded(client, model, digest_of(weights))
    [before] = await pods_of(client, namespace, "chat")

    other = padded(weights, shared_files / "other.gguf")
    await client.patch(kinds.LLM_MODEL, model, None, {"spec": {"source": {"url": other.as_uri()}}})

    await _recorded(client, model, digest_of(other))

    async def rolled() -> bool:
        pods = await pods_of(client, namespace, "chat")
        uids = [pod["metadata"]["uid"] for pod in pods]
        return len(uids) == 1 and before["metadata"]["uid"] not in uids

    await eventually(rolled, within=READY_SECONDS, what="another pod")
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    await _told(client, namespace, digest_of(other))


async def test_a_declared_digest_needs_no_fetch_of_the_platform(
    client: KubeClient, namespace: str, weights: Path
) -> None:
    """Nothing is downloaded a second time for what is known."""
    name = await add_model(client, weights.as_uri(), sha256=digest_of(weights))
    await order(client, namespace, "chat", name)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    await until_condition(client, kinds.LLM_MODEL, None, name, "DigestKnown", "Declared")
    assert await fetch_jobs_of(client, name) == []
    await client.delete(kinds.LLM_MODEL, name)
