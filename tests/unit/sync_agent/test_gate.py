"""The gate that all passes of an agent go through: closed for a while, or for good."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eventually import eventually
from privatellm_sync_agent.engine.gate import Gate
from privatellm_sync_agent.engine.queue import WorkQueue


class Passes:
    """Two queues behind one gate, whose passes end when the test says so."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.queues: tuple[WorkQueue[str], ...] = (
            WorkQueue(gate=self.gate),
            WorkQueue(gate=self.gate),
        )
        self.end = asyncio.Event()
        self.begun: list[str] = []
        self.ended: list[str] = []

    async def handle(self, key: str) -> None:
        """Do a pass."""
        self.begun.append(key)
        await self.end.wait()
        self.ended.append(key)

    async def begin(self, *keys: str) -> None:
        """Add a key to each queue, and return when there is a pass over each."""
        for queue, key in zip(self.queues, keys, strict=True):
            queue.add(key)

        async def running() -> bool:
            return self.gate.running == len(keys)

        await eventually(running, within=5, what="a pass in each queue")


@asynccontextmanager
async def working() -> AsyncIterator[Passes]:
    passes = Passes()
    tasks = [asyncio.create_task(one.run(passes.handle, workers=2)) for one in passes.queues]
    try:
        yield passes
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def turns() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_finishing_waits_for_running_passes_and_starts_no_other() -> None:
    """In every queue; what waits is left to the next process."""
    async with working() as passes:
        await passes.begin("a", "b")
        finished = asyncio.create_task(passes.gate.finish())
        for queue in passes.queues:
            queue.add("late")
        await turns()
        assert not finished.done()

        passes.end.set()
        await asyncio.wait_for(finished, 5)
        await turns()

        assert sorted(passes.ended) == ["a", "b"]
        assert sorted(passes.begun) == ["a", "b"]
        assert [len(queue) for queue in passes.queues] == [1, 1]


async def test_a_gate_that_finishes_never_opens_again() -> None:
    """Even if the Lease becomes certain again meanwhile."""
    async with working() as passes:
        passes.gate.pause()
        passes.queues[0].add("a")
        await turns()
        await asyncio.wait_for(passes.gate.finish(), 5)

        passes.gate.resume()
        await turns()

        assert not passes.begun


async def test_a_pause_holds_back_passes_and_lets_running_ones_go_on() -> None:
    async with working() as passes:
        await passes.begin("a", "b")
        passes.gate.pause()
        passes.queues[0].add("c")
        passes.end.set()
        await turns()
        assert sorted(passes.ended) == ["a", "b"]
        assert passes.gate.running == 0

        passes.gate.resume()
        await turns()

        assert sorted(passes.ended) == ["a", "b", "c"]


async def test_a_gate_that_closes_in_the_moment_it_opened_lets_nobody_through() -> None:
    """Whoever it woke waits on."""
    async with working() as passes:
        passes.gate.pause()
        passes.queues[0].add("a")
        await turns()

        passes.gate.resume()
        passes.gate.pause()
        await turns()

        assert not passes.begun


async def test_passes_that_are_cut_off_are_over() -> None:
    """Nobody waits for a pass that was cancelled."""
    async with working() as passes:
        await passes.begin("a", "b")
    assert passes.gate.running == 0
    await asyncio.wait_for(passes.gate.finish(), 5)
    assert not passes.ended
