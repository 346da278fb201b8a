import asyncio

import pytest

from eventually import eventually
from privatellm_local import progress
from privatellm_local.progress import Heartbeat, SilentProgress


class Recorded(SilentProgress):
    """Remembers every detail that it was told."""

    def __init__(self) -> None:
        self.details: list[str] = []

    def update(self, detail: str) -> None:
        """Remember the detail."""
        self.details.append(detail)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats every hundredth of a second."""
    monkeypatch.setattr(progress, "HEARTBEAT_SECONDS", 0.01)


async def _until_told(inner: Recorded, expected: list[str]) -> None:
    async def told() -> bool:
        return inner.details[: len(expected)] == expected

    await eventually(told, what=f"{expected}")


async def test_a_step_that_waits_is_heard_again_and_again() -> None:
    """Whoever reads a log sees that it lives, and what it waits for."""
    inner = Recorded()
    heartbeat = Heartbeat(inner, lambda _: None)

    async with heartbeat.beating():
        heartbeat.begin("platform")
        heartbeat.update("waiting for private-llm-operator")
        await _until_told(inner, ["waiting for private-llm-operator"] * 3)


async def test_a_step_that_says_nothing_is_at_work() -> None:
    """A display is told even then."""
    inner = Recorded()
    heartbeat = Heartbeat(inner, lambda _: None)

    async with heartbeat.beating():
        heartbeat.begin("certificates")
        await _until_told(inner, ["at work"])


async def test_nothing_is_repeated_after_its_end() -> None:
    """Neither of a step nor of the whole."""
    inner = Recorded()
    heartbeat = Heartbeat(inner, lambda _: None)

    async with heartbeat.beating():
        heartbeat.begin("platform")
        heartbeat.update("waiting")
        heartbeat.end()
        await asyncio.sleep(0.05)
    heartbeat.begin("demo")
    await asyncio.sleep(0.05)

    assert inner.details == ["waiting"]


def test_every_step_is_announced_to_those_who_look() -> None:
    """`status` shows what `up` is doing."""
    stages: list[str] = []
    heartbeat = Heartbeat(SilentProgress(), stages.append)

    heartbeat.begin("checks")
    heartbeat.begin("programs")

    assert stages == ["checks", "programs"]
