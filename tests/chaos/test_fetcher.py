"""A fetcher that dies in the middle of a download."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import fetcher_source
from cache_world import (
    FETCHER,
    add_model,
    demo_weights,
    digest_of,
    order,
    platform_settings,
    pods_of,
    slowly,
)
from chaos_customers import BUSY, Customers
from chaos_fault import Stage
from chaos_parts import Parts, Process
from customer import until_phase
from eventually import eventually
from fetcher_source import HttpSource
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

MEBIBYTE = 1 << 20
UNDER_WAY = 16 * MEBIBYTE
"""Of the demo's 241: the download is neither at its beginning nor near its end."""

STARTED_SECONDS = 90.0
ROLLED_SECONDS = 120.0
GONE_SECONDS = 120.0
PRIVATE = "--allow-private-sources"


@pytest.fixture(scope="module", autouse=True)
def private_sources(kubeconfig: Path, customers: Customers) -> Iterator[None]:
    """A platform whose models may come from this machine; every model server is rolled for that."""
    with platform_settings(kubeconfig, PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true"):
        asyncio.run(_rolled(kubeconfig, customers.namespace, is_allowed=True))
        yield
    asyncio.run(_rolled(kubeconfig, customers.namespace, is_allowed=False))


@pytest.fixture
async def source(client: KubeClient) -> AsyncIterator[HttpSource]:
    """The demo's weights behind HTTP: the first answer takes half a minute, the others no time."""
    content = await asyncio.to_thread((await demo_weights(client)).read_bytes)
    script = [slowly(pieces=60, seconds_each=0.5)]
    with fetcher_source.running(HttpSource(content, script=script)) as running:
        yield running


async def test_a_killed_fetcher_goes_on_where_it_was(
    stage: Stage, client: KubeClient, source: HttpSource
) -> None:
    """The pod stays, so the bytes do: the next process asks for the rest and checks the whole."""
    namespace, name = stage.customers.namespace, "fetching"
    model = await add_model(client, source.url, sha256=source.sha256, sizeBytes=len(source.content))
    try:
        async with stage.fault("fetcher: kill -9 in mid-download") as fault:
            fault.churn.adopt(name, kinds.LLM_INSTANCE)
            await order(client, namespace, name, model)
            fetcher, arrived = await _under_way(stage.parts, name)
            fault.begins()
            os.kill(fetcher.pid, signal.SIGKILL)

            async def asked_again() -> bool:
                return len(source.requests) > 1

            await eventually(asked_again, within=STARTED_SECONDS, what="another fetcher")
            fault.figures["another process"] = fault.age
            await until_phase(client, kinds.LLM_INSTANCE, namespace, name, "Ready")
            fault.is_over()
            kept = _kept(source)
            fault.figures["MiB that were not fetched again (number)"] = kept / MEBIBYTE
            assert kept >= arrived
            (pod,) = await pods_of(client, namespace, name)
            assert _deaths(pod) == (1, 128 + signal.SIGKILL)
            (weights,) = _files(stage.parts, fetcher, "*.gguf")
            assert await asyncio.to_thread(digest_of, weights) == source.sha256
            assert list(_files(stage.parts, fetcher, "*.partial*")) == []
        assert fault.seen().refused == {}
    finally:
        await _removed(client, namespace, name, model)


async def _under_way(parts: Parts, name: str) -> tuple[Process, int]:
    """Return the fetcher of an instance and how many bytes it has, when it is in the middle."""

    async def under_way() -> tuple[Process, int] | None:
        for process in parts.leaders(f"{name}-llama", FETCHER):
            for partial in _files(parts, process, "*.partial"):
                if (arrived := partial.stat().st_size) > UNDER_WAY:
                    return process, arrived
        return None

    found = await eventually(under_way, within=STARTED_SECONDS, what="a download under way")
    assert found is not None
    return found


def _files(parts: Parts, process: Process, pattern: str) -> Iterator[Path]:
    """Yield the files of these names among those that belong to the pod of a process."""
    return (parts.paths.node / "pods" / process.pod_uid).rglob(pattern)


def _kept(source: HttpSource) -> int:
    """Return from which byte on the second fetcher asked, which asked once."""
    _, asked = source.ranges
    rest = re.fullmatch(r"bytes=(\d+)-", asked or "")
    assert rest is not None, f"It asked for {asked}."
    return int(rest[1])


def _deaths(pod: Manifest) -> tuple[int, int]:
    """Return how often the fetcher was started again, and by what code it had ended."""
    (fetcher,) = pod["status"]["initContainerStatuses"]
    return fetcher["restartCount"], fetcher["lastState"]["terminated"]["exitCode"]


async def _rolled(kubeconfig: Path, namespace: str, *, is_allowed: bool) -> None:
    """Wait until the instance's only pod is one whose fetcher may, or may not, ask this machine."""
    async with await KubeClient.connect(kubeconfig) as client:

        async def rolled() -> bool:
            selector = f"{labels.LLM_INSTANCE}={BUSY}"
            pods = (await client.list(kinds.POD, namespace, labels=selector)).items
            found = [PRIVATE in pod["spec"]["initContainers"][0]["args"] for pod in pods]
            return found == [is_allowed] and _is_ready(pods[0])

        await eventually(rolled, within=ROLLED_SECONDS, what="a model server that was rolled")


def _is_ready(pod: Manifest) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def _removed(client: KubeClient, namespace: str, name: str, model: str) -> None:
    await client.delete(kinds.LLM_INSTANCE, name, namespace)
    await client.delete(kinds.LLM_MODEL, model)

    async def is_gone() -> bool:
        pods = await client.list(kinds.POD, namespace, labels=f"{labels.LLM_INSTANCE}={name}")
        return await client.get(kinds.LLM_MODEL, model) is None and not pods.items

    await eventually(is_gone, within=GONE_SECONDS, what=f"the end of {name} and its model")
