"""A cache on the nodes: the platform's Job fills it, tenants read it, nobody fetches twice."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import fetcher_source
from cache_world import (
    add_model,
    demo_weights,
    digest_of,
    fetch_jobs_of,
    models_in,
    order,
    platform_settings,
)
from customer import READY_SECONDS, until_condition, until_phase
from eventually import eventually
from fetcher_source import HttpSource
from privatellm.kube import KubeClient, kinds
from privatellm.telemetry.families.operator import FETCHES
from privatellm_local.platform.rbac import tenant_binding
from telemetry_scrapes import scrape

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def directory(kubeconfig: Path) -> Iterator[Path]:
    """A directory of the node, below the one that it allows."""

    async def allowed() -> Path:
        async with await KubeClient.connect(kubeconfig) as client:
            return (await demo_weights(client)).parent

    path = asyncio.run(allowed()) / f"shared-{secrets.token_hex(4)}"
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def shared_cache(kubeconfig: Path, directory: Path) -> Iterator[None]:
    """A platform that keeps weights in that directory."""
    with platform_settings(
        kubeconfig,
        PRIVATE_LLM_CACHE_MODE="hostPath",
        PRIVATE_LLM_CACHE_DIRECTORY=str(directory),
        PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true",
    ):
        yield


@pytest.fixture
async def neighbour(client: KubeClient) -> AsyncIterator[str]:
    """Another tenant's namespace."""
    name = f"test-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(kinds.NAMESPACE, manifest)
    await client.create(kinds.ROLE_BINDING, tenant_binding(name))
    yield name
    await client.delete(kinds.NAMESPACE, name)


async def _until_hits(client: KubeClient, number: float) -> None:
    """Wait until the operator has counted so many pods that found their weights in the cache."""

    async def counted() -> bool:
        return (await scrape(client)).total(FETCHES.name, result="present") >= number

    await eventually(counted, within=READY_SECONDS, what=f"{number:g} cache hits")


async def test_the_second_instance_on_a_node_starts_without_network(
    client: KubeClient, namespace: str, neighbour: str, source: HttpSource, directory: Path
) -> None:
    """One fetch by the platform serves two tenants, records the digest, and outlives both."""
    model = await add_model(client, source.url)
    hits = (await scrape(client)).total(FETCHES.name, result="present")
    await order(client, namespace, "one", model)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "one", "Ready")
    assert len(source.requests) == 1
    assert [digest_of(path) for path in models_in(directory, model)] == [source.sha256]
    await until_condition(client, kinds.LLM_MODEL, None, model, "DigestKnown", "Recorded")

    source.script += [fetcher_source.status(503)] * 100
    await order(client, neighbour, "two", model)
    await until_phase(client, kinds.LLM_INSTANCE, neighbour, "two", "Ready")
    assert len(source.requests) == 1
    # The platform's Job fetched, so both instances found what they need.
    await _until_hits(client, hits + 2)

    async def tidy() -> bool:
        return await fetch_jobs_of(client, model) == []

    await eventually(tidy, within=READY_SECONDS, what="no Job that nobody needs")
    for name, where in (("one", namespace), ("two", neighbour)):
        await client.delete(kinds.LLM_INSTANCE, name, where)
    assert [digest_of(path) for path in models_in(directory, model)] == [source.sha256]
    await client.delete(kinds.LLM_MODEL, model)


async def test_what_keeps_the_platform_from_fetching_reaches_the_customer(
    client: KubeClient, namespace: str, source: HttpSource
) -> None:
    """The words come from a namespace that the customer cannot look into."""
    source.script += [fetcher_source.status(404)] * 100
    model = await add_model(client, source.url, sha256=source.sha256)
    await order(client, namespace, "chat", model)

    message = await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "chat", "ModelAvailable", "NotFound"
    )
    assert source.url in message
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)
    await client.delete(kinds.LLM_MODEL, model)
