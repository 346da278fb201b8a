"""The authserver against a real API server: how soon a key works, and how soon it stops."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from auth_service import Service, environment_for, running
from auth_world import PLATFORM_KEY, Key, make_key
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm_authserver.feed import FeedHealth, VerifierFeed
from privatellm_authserver.index import EntryReader, TokenIndex

pytestmark = pytest.mark.integration

REPLICAS = 3
REVOCATIONS = 100
PER_SECOND = 50


@pytest.fixture
async def service(kubeconfig: Path, namespace: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service of our own beside the environment's, with the test's namespace as token namespace."""
    environment = environment_for(kubeconfig, tmp_path)
    environment |= {"PRIVATE_LLM_TOKEN_NAMESPACE": namespace, "PRIVATE_LLM_WORKERS": "2"}
    async with running(environment, tmp_path / "log") as started:
        yield started


async def issue(client: KubeClient, namespace: str, uid: str = "uid-1") -> Key:
    """Create a verifier as the operator does."""
    key = make_key(uid, namespace=namespace)
    await client.create(kinds.SECRET, key.secret)
    return key


async def test_a_key_works_when_its_verifier_exists_and_stops_when_it_is_gone(
    client: KubeClient, namespace: str, service: Service
) -> None:
    """On every worker, and its holder is told that it was revoked."""
    key, other = [await issue(client, namespace) for _ in range(2)]
    await service.until(key, "allowed")

    await client.delete(kinds.SECRET, key.verifier_name, namespace)

    await service.until(key, "revoked_api_key", within=2.0)
    assert await service.outcomes(other) == {"allowed"}


async def test_keys_outlive_a_watch_and_a_restarted_worker(
    client: KubeClient, namespace: str, service: Service
) -> None:
    """Workers that start later list what others learned from the watch."""
    key = await issue(client, namespace)
    await service.until(key, "allowed")
    before = service.workers()

    async with asyncio.timeout(20):
        await _kill_and_wait(service, before[0])

    await service.until_ready()
    assert await service.outcomes(key) == {"allowed"}


async def _kill_and_wait(service: Service, victim: int) -> None:
    process = await asyncio.create_subprocess_exec("kill", "-9", str(victim))
    await process.wait()

    async def replaced() -> bool:
        workers = service.workers()
        return victim not in workers and len(workers) == 2

    await eventually(replaced, what="a new worker")


async def test_a_foreign_secret_in_the_token_namespace_is_counted(
    client: KubeClient, namespace: str, service: Service
) -> None:
    """It opens nothing and stops nothing."""
    foreign = make_key(namespace=namespace)
    foreign.secret["type"] = "Opaque"
    await client.create(kinds.SECRET, foreign.secret)

    async def counted() -> bool:
        return 'rejected_verifiers{worker="0"} 1.0' in (await service.get("/metrics")).text

    await eventually(counted, within=5.0)
    assert await service.outcomes(foreign) == {"invalid_api_key"}


async def test_revocations_reach_every_replica_and_stay(
    kubeconfig: Path, client: KubeClient, namespace: str
) -> None:
    """At 50 revocations a second over three replicas; how soon is what revocation_bench.py measures."""
    keys = [await issue(client, namespace, f"uid-{n}") for n in range(REVOCATIONS)]
    async with AsyncExitStack() as stack:
        indexes = [await _replica(stack, kubeconfig, namespace) for _ in range(REPLICAS)]

        async def synced() -> bool:
            return all(index.tokens == REVOCATIONS for index in indexes)

        await eventually(synced, what="three synced replicas")
        started = time.monotonic()
        waiting = []
        for number, key in enumerate(keys):
            await asyncio.sleep(max(0.0, started + number / PER_SECOND - time.monotonic()))
            await client.delete(kinds.SECRET, key.verifier_name, namespace)
            waiting.append(asyncio.create_task(_until_revoked(key, indexes)))
        await asyncio.gather(*waiting)

        assert all(index.find(key.key_id).revoked for key in keys for index in indexes)


async def _replica(stack: AsyncExitStack, kubeconfig: Path, namespace: str) -> TokenIndex:
    client = await stack.enter_async_context(await KubeClient.connect(kubeconfig))
    index = TokenIndex(EntryReader(PLATFORM_KEY), 60.0)
    feed = asyncio.create_task(VerifierFeed(client, namespace, index, FeedHealth()).run())
    stack.push_async_callback(_end, feed)
    return index


async def _end(feed: asyncio.Task[None]) -> None:
    feed.cancel()
    await asyncio.gather(feed, return_exceptions=True)


async def _until_revoked(key: Key, indexes: list[TokenIndex]) -> None:
    async def revoked() -> bool:
        return all(index.find(key.key_id).revoked for index in indexes)

    await eventually(revoked, within=10, what="a revocation on every replica")
