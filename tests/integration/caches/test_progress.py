"""How far a fetch is, in the instance's condition."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from cache_world import add_model, order, percentages, platform_settings, slowly
from customer import READY_SECONDS, until_condition, until_phase
from eventually import eventually
from fetcher_source import HttpSource
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def private_sources(kubeconfig: Path) -> Iterator[None]:
    """A platform whose models may come from this machine."""
    with platform_settings(kubeconfig, PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true"):
        yield


async def test_a_slow_fetch_shows_its_percentage_and_speed(
    client: KubeClient, namespace: str, source: HttpSource
) -> None:
    """The condition moves with the download, and says so when the weights are in place."""
    source.script.append(slowly(pieces=60, seconds_each=0.5))
    model = await add_model(client, source.url, sha256=source.sha256, sizeBytes=len(source.content))
    await order(client, namespace, "chat", model)
    seen: list[int] = []

    async def moves() -> bool:
        status = (await client.get(kinds.LLM_INSTANCE, "chat", namespace) or {}).get("status", {})
        found = [c for c in status.get("conditions", ()) if c["type"] == "ModelAvailable"]
        shown = [p for c in found if "MB/s" in c["message"] for p in percentages(c["message"])]
        seen.extend(p for p in shown if p not in seen)
        return len(seen) >= 2

    await eventually(moves, within=READY_SECONDS, what="a percentage that moves")
    assert seen == sorted(seen)
    assert all(later - earlier >= 10 for earlier, later in pairwise(seen))

    source.released.set()
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Ready")
    await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "chat", "ModelAvailable", "Fetched"
    )
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)
    await client.delete(kinds.LLM_MODEL, model)
