"""The recorder of events: a process that leaves waits a moment for what is not sent yet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine import events
from privatellm_sync_agent.engine.events import EventRecorder, Reason

THING: Manifest = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "x", "namespace": "default", "uid": "uid"},
}


class Api:
    """Takes events in when the test lets it."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.taken: list[str] = []

    async def create(self, _kind: Kind, event: Manifest) -> None:
        """Take an event in."""
        await self.answers.wait()
        self.taken.append(event["reason"])


@asynccontextmanager
async def recording() -> AsyncIterator[tuple[EventRecorder, Api]]:
    recorder, api = EventRecorder("agent"), Api()
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder, api
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_was_told_is_sent_before_the_end() -> None:
    """The one that is being sent as well as those behind it."""
    async with recording() as (recorder, api):
        for reason in (Reason.ACCEPTED, Reason.PLACED):
            recorder.tell(cast("KubeClient", api), THING, reason, "words")
        flushed = asyncio.create_task(recorder.flush())
        await asyncio.sleep(0)
        assert not flushed.done()

        api.answers.set()
        await asyncio.wait_for(flushed, 5)

        assert api.taken == ["ObjectAccepted", "ObjectPlaced"]
        assert recorder.is_idle


async def test_a_server_that_takes_no_event_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Events tell, and nothing depends on them."""
    monkeypatch.setattr(events, "FLUSH_SECONDS", 0.01)
    async with recording() as (recorder, api):
        recorder.tell(cast("KubeClient", api), THING, Reason.ACCEPTED, "words")

        await asyncio.wait_for(recorder.flush(), 5)

        assert not api.taken
