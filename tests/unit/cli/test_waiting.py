"""How long somebody who waits for an instance believes that a failure heals."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes.aio.client import Configuration

from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm_cli import waiting
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.downloads import Coming, Narrator, News, TryingAgain
from privatellm_cli.errors import OverdueError, UnreachedError
from privatellm_local.progress import SilentProgress

NAME = Name("acme", "chat")
FAILING = TryingAgain("hub.example is silent; check that it is reachable from the cluster.")


def _state(phase: str, reason: str, message: str) -> dict[str, Any]:
    condition = {"type": "ModelAvailable", "status": "False", "reason": reason, "message": message}
    return {
        "metadata": {"name": "chat", "namespace": "acme", "generation": 1},
        "spec": {},
        "status": {"observedGeneration": 1, "phase": phase, "conditions": [condition]},
    }


FETCHING = _state("Provisioning", "Fetching", "The model is being fetched.")
RETRYING = _state("Provisioning", "SourceFailing", "The source fails.")
READY = _state("Ready", "Fetched", "")


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    """A cluster that nobody asks, and little patience."""
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.05)
    async with KubeClient(Credentials(None, Configuration())) as client:
        yield Cluster(client, "acme")


async def _outcome(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    *told: dict[str, Any] | News | float | None,
    within: float = 5.0,
) -> dict[str, Any]:
    """Wait while an object's states, a fetcher's news and pauses follow one another; then nothing does."""
    wait = waiting.Wait(NAME, within, Narrator(SilentProgress()))

    async def states(*_: object) -> AsyncIterator[dict[str, Any]]:
        for one in told:
            match one:
                case float():
                    await asyncio.sleep(one)
                case dict():
                    yield one
                case _:
                    wait.hear(one)
        await asyncio.Event().wait()

    monkeypatch.setattr(waiting, "states", states)
    return await wait.follow(cluster)


async def test_a_source_that_goes_on_failing_ends_the_wait_with_the_cause(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fetcher forgives it for minutes; somebody at a terminal has the cause long before."""
    with pytest.raises(UnreachedError, match=r"the model's source fails\. hub\.example is silent"):
        await _outcome(cluster, monkeypatch, FETCHING, FAILING, FAILING)


@pytest.mark.parametrize("healed", [Coming("1 % of 253 MB"), None], ids=["a byte", "no fetcher"])
async def test_a_failure_that_heals_is_forgotten(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, healed: News | None
) -> None:
    """However long the download takes then, and however often that happens."""
    told = (FETCHING, FAILING, healed, 0.1, FAILING, healed, 0.1, READY)

    assert await _outcome(cluster, monkeypatch, *told) == READY


async def test_a_source_that_goes_on_failing_the_platform_ends_the_wait_too(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that many share is filled where customers read no log, so the condition tells it."""
    with pytest.raises(UnreachedError, match=r"is not ready: The source fails\."):
        await _outcome(cluster, monkeypatch, FETCHING, RETRYING)


async def test_a_source_that_came_back_is_believed_in_anew(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte of the platform's fetch makes good what failed before."""
    told = (RETRYING, FETCHING, 0.1, RETRYING, FETCHING, 0.1, READY)

    assert await _outcome(cluster, monkeypatch, *told) == READY


async def test_what_failed_for_good_is_told_in_the_conditions_words(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They know more than the fetcher's last try; a fetcher that starts anew does not hide them."""
    failed = _state("Failed", "NotFound", "There is no such file.")

    with pytest.raises(UnreachedError, match=r"is not ready: There is no such file\."):
        await _outcome(cluster, monkeypatch, FETCHING, FAILING, failed, Coming("1 %"))


async def test_a_slow_download_is_late_and_has_not_failed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time alone is no cause."""
    with pytest.raises(OverdueError, match=r"after 0\.2 s: The model is being fetched\."):
        await _outcome(cluster, monkeypatch, FETCHING, Coming("1 %"), within=0.2)
