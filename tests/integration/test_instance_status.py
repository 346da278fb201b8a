"""What an instance says when its servers cannot run: causes found in real pods, in words with a remedy."""

import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from customer import MODEL, instance, order, until_condition, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_local.paths import cache_paths

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

NAMED_SECONDS = 240.0
"""The fetcher tries an unreachable source for a minute, and a resolver may be slow to say no each time."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A model that cannot be served.

    Attributes:
        spec: What differs from a model that can.
        reason: The reason that the conditions must give.
        words: What their message must contain.
        of_model: Whether ``ModelAvailable`` is where it belongs, beside ``Ready``.
        phase: Failed, or Provisioning where waiting may help.
    """

    spec: dict[str, Any]
    reason: str
    words: tuple[str, ...]
    of_model: bool = field(default=False)
    phase: str = field(default="Failed")


TROUBLES = {
    "an image that no node has": Trouble(
        {"server": {"image": "ghcr.io/nobody/nothing:1"}},
        "ImagePullFailed",
        ("ghcr.io/nobody/nothing", "llama-server"),
    ),
    "a server that refuses its arguments": Trouble(
        {"extraArguments": ["--no-such-argument"]},
        "CrashLoop",
        ("--no-such-argument", "kubectl logs"),
    ),
    "a request that no node can fulfil": Trouble(
        {"resources": {"requests": {"cpu": "4000"}}},
        "Unschedulable",
        ("Insufficient cpu", "platform team"),
        phase="Provisioning",
    ),
    "a device that no node has": Trouble(
        {"gpu": {"resource": "example.com/gpu"}},
        "Unschedulable",
        ("Insufficient example.com/gpu",),
        phase="Provisioning",
    ),
    "a claim that is not there": Trouble(
        {"source": {"pvc": {"claimName": "weights", "path": "model.gguf"}}},
        "VolumeNotBound",
        ("weights", "kubectl get persistentvolumeclaims"),
        of_model=True,
        phase="Provisioning",
    ),
    "a file that is not there": Trouble(
        {"source": {"url": (cache_paths().models / "nowhere.gguf").as_uri()}},
        "NotFound",
        ("nowhere.gguf",),
        of_model=True,
    ),
    "a file that is not the platform's": Trouble(
        {"source": {"url": "file:///etc/hostname"}},
        "ContainerRefused",
        ("/etc/hostname", "own mounts"),
    ),
    "a host that does not exist": Trouble(
        {"source": {"url": "https://models.invalid/model.gguf"}},
        "SourceUnreachable",
        ("models.invalid",),
        of_model=True,
    ),
    "a host inside the platform": Trouble(
        {"source": {"url": "https://127.0.0.1:1/model.gguf"}},
        "SourceRefused",
        ("127.0.0.1",),
        of_model=True,
    ),
    "other bytes than promised": Trouble(
        {"sha256": "0" * 64}, "ChecksumMismatch", ("0" * 12,), of_model=True
    ),
}


@pytest.fixture
async def model_like(client: KubeClient) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Make models that differ from the demo's in some fields."""
    made: list[str] = []

    async def make(**changes: Any) -> str:
        known = await client.get(kinds.LLM_MODEL, MODEL)
        assert known is not None
        name = f"odd-{secrets.token_hex(4)}"
        spec = {k: v for k, v in known["spec"].items() if k not in {"sha256", "sizeBytes"}}
        manifest = {
            "apiVersion": kinds.LLM_MODEL.api_version,
            "kind": "LLMModel",
            "metadata": {"name": name},
            "spec": spec | changes,
        }
        await client.create(kinds.LLM_MODEL, manifest)
        made.append(name)
        return name

    yield make
    for name in made:
        await client.delete(kinds.LLM_MODEL, name)


def _condition(seen: Manifest | None, kind: str) -> dict[str, Any]:
    conditions = (seen or {}).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind), {})


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_the_cause_is_named_with_its_remedy(
    client: KubeClient, namespace: str, model_like: Callable[..., Awaitable[str]], trouble: str
) -> None:
    """With the phase that fits, one reason in the conditions and in an event, and no Ready."""
    expected = TROUBLES[trouble]
    model = await model_like(**expected.spec)
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "odd", model=model))

    async def named() -> Manifest | None:
        seen = await client.get(kinds.LLM_INSTANCE, "odd", namespace)
        ready = _condition(seen, "Ready")
        assert ready.get("reason") == expected.reason, ready
        assert [word for word in expected.words if word not in ready["message"]] == []
        return seen

    seen = await eventually(
        named, within=NAMED_SECONDS, what=f"{expected.reason} in the Ready condition"
    )
    assert seen is not None
    ready = _condition(seen, "Ready")
    assert seen["status"]["phase"] == expected.phase
    assert (ready["status"], seen["status"]["ready"]) == ("False", "0/1")
    if expected.of_model:
        assert _condition(seen, "ModelAvailable")["reason"] == expected.reason

    async def announced() -> bool:
        events = await client.list(kinds.EVENT, namespace)
        return (expected.reason, "Warning") in {(e["reason"], e["type"]) for e in events.items}

    await eventually(announced, what=f"a Warning event {expected.reason}")


async def test_a_model_larger_than_the_disk_is_told_before_it_is_copied(
    client: KubeClient,
    namespace: str,
    model_like: Callable[..., Awaitable[str]],
    shared_files: Path,
) -> None:
    """Nothing fills a node's disk in order to find out that it is full."""
    weights = shared_files / "large.gguf"
    size = shutil.disk_usage(shared_files).free + 2**40
    with weights.open("wb") as sparse:
        sparse.truncate(size)
    model = await model_like(source={"url": weights.as_uri()}, sizeBytes=size)
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "large", model=model))

    message = await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "large", "ModelAvailable", "InsufficientStorage"
    )

    assert "MiB free" in message
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "large", "Failed")


async def test_a_broken_instance_comes_to_rest(
    client: KubeClient, namespace: str, model_like: Callable[..., Awaitable[str]]
) -> None:
    """Restarts and back-offs of a crashing server do not rewrite its status again and again."""
    model = await model_like(extraArguments=["--no-such-argument"])
    await client.create(kinds.LLM_INSTANCE, instance(namespace, "odd", model=model))
    await until_condition(client, kinds.LLM_INSTANCE, namespace, "odd", "Ready", "CrashLoop")

    async def restarts() -> int:
        pods = (await client.list(kinds.POD, namespace)).items
        statuses = [s for p in pods for s in p.get("status", {}).get("containerStatuses", [])]
        return max((s["restartCount"] for s in statuses), default=0)

    async def crashed_again() -> bool:
        return await restarts() >= 2

    await eventually(crashed_again, within=60, what="two restarts")
    before = await client.get(kinds.LLM_INSTANCE, "odd", namespace)
    seen = await restarts()

    async def and_again() -> bool:
        return await restarts() > seen

    await eventually(and_again, within=60, what="another restart")
    after = await client.get(kinds.LLM_INSTANCE, "odd", namespace)
    assert before is not None
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_bad_change_degrades_and_a_good_one_heals(
    client: KubeClient, namespace: str, model_like: Callable[..., Awaitable[str]]
) -> None:
    """The server of before goes on answering while the new one cannot start."""
    await order(client, namespace, "chat")
    bad = await model_like(extraArguments=["--no-such-argument"])
    await client.patch(kinds.LLM_INSTANCE, "chat", namespace, {"spec": {"model": bad}})

    await until_condition(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready", "CrashLoop")

    async def degraded() -> bool:
        seen = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
        assert seen is not None
        status = seen["status"]
        assert (status["phase"], status["readyReplicas"]) == ("Degraded", 1), status
        # What answers is told, and not what was ordered.
        assert status["model"]["name"] == MODEL
        assert f"Until {bad} can be served, {MODEL} is." in _condition(seen, "Ready")["message"]
        return True

    await eventually(degraded, within=90, what="the former model, served by a degraded instance")

    await client.patch(kinds.LLM_INSTANCE, "chat", namespace, {"spec": {"model": MODEL}})
    healed = await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    assert healed["status"]["model"]["name"] == MODEL


async def test_a_change_of_the_model_is_served_when_the_status_says_so(
    client: KubeClient, namespace: str, model_like: Callable[..., Awaitable[str]]
) -> None:
    """Name and checksum change when the former server is gone, and not when the order does."""
    await order(client, namespace, "chat")
    known = await client.get(kinds.LLM_MODEL, MODEL)
    assert known is not None
    other = await model_like(sha256=known["spec"]["sha256"])
    early: list[str] = []
    await client.patch(kinds.LLM_INSTANCE, "chat", namespace, {"spec": {"model": other}})

    async def served() -> bool:
        seen = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
        assert seen is not None
        name = seen["status"]["model"]["name"]
        assert name in (MODEL, other)
        pods = (await client.list(kinds.POD, namespace)).items
        living = [p for p in pods if not p["metadata"].get("deletionTimestamp")]
        early.extend(p["metadata"]["name"] for p in living if name == other and _serves(p, MODEL))
        return bool(name == other)

    await eventually(served, within=120, what=f"{other} in the status")
    assert early == []


def _serves(pod: Manifest, model: str) -> bool:
    arguments = pod["spec"]["containers"][0]["args"]
    return bool(arguments[arguments.index("--alias") + 1] == model)
