"""How long the agent's longest waiting object has waited: on ``/metrics`` and in the readiness probe."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

from prometheus_client import generate_latest

from eventually import eventually
from privatellm.telemetry.families import sync_agent as families
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine.queue import WorkQueue
from privatellm_sync_agent.listeners import OLDEST_SECONDS, Readiness
from privatellm_sync_agent.metrics import registry_of
from telemetry_parts import samples


@dataclass
class Clock:
    """A clock that goes when it is told to."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.seconds


class Passes:
    """A queue with one worker, whose passes end when the test says so."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.queue: WorkQueue[str] = WorkQueue(
            group_of=lambda key: key.partition("|")[0], clock=self.clock
        )
        self.entered, self.end = asyncio.Event(), asyncio.Event()

    async def handle(self, _key: str) -> None:
        """Do a pass."""
        self.entered.set()
        await self.end.wait()

    async def idle(self) -> bool:
        """Return whether nothing is left to do."""
        return self.queue.is_idle

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Do passes until the block ends."""
        run = asyncio.create_task(self.queue.run(self.handle, workers=1))
        try:
            await self.entered.wait()
            yield
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)


def agent_with(**queues: WorkQueue[str]) -> Agent:
    """Return what is seen of an agent that syncs published resources of these names."""
    synchronizers = tuple(
        SimpleNamespace(
            publication=SimpleNamespace(name=name),
            world=SimpleNamespace(endpoints={}, copies=()),
            queue=queue,
            relists=1,
        )
        for name, queue in queues.items()
    )
    manager = SimpleNamespace(urls=frozenset(), synchronizers=synchronizers)
    return cast("Agent", SimpleNamespace(published={}, manager=manager, is_ready=True))


def shown(agent: Agent) -> dict[str, float]:
    """Return the age that is scraped of each published resource."""
    found = samples(generate_latest(registry_of(agent, lambda: True)))
    return {
        one.labels["resource"]: one.value for one in found if one.name == families.QUEUE_OLDEST.name
    }


async def test_the_age_is_that_of_the_oldest_key_and_falls_to_zero() -> None:
    """Whoever is worked on does not wait; whoever is behind it does, longer at each scrape."""
    passes = Passes()
    agent = agent_with(instances=passes.queue)
    assert shown(agent) == {"instances": 0}
    passes.queue.add("acme|first")
    passes.clock.seconds += 1
    passes.queue.add("acme|second")
    passes.clock.seconds += 1
    passes.queue.add("globex|third")
    passes.clock.seconds += 5
    assert shown(agent) == {"instances": 7}

    async with passes.working():
        assert shown(agent) == {"instances": 6}
        passes.clock.seconds += 30
        passes.queue.add("acme|second")
        assert shown(agent) == {"instances": 36}
        passes.end.set()
        await eventually(passes.idle, within=5, what="the end of all passes")

    passes.clock.seconds += 60
    assert shown(agent) == {"instances": 0}


def test_each_published_resource_has_its_own_age() -> None:
    """One that is stuck is not hidden behind another that moves."""
    clock = Clock()
    stuck: WorkQueue[str] = WorkQueue(clock=clock)
    stuck.add("x")
    clock.seconds += 90

    assert shown(agent_with(stuck=stuck, fine=WorkQueue(clock=clock))) == {"stuck": 90, "fine": 0}


def test_an_agent_whose_oldest_key_waits_too_long_is_not_ready() -> None:
    """Its workers are stuck, and the probe says for how long."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock=clock)
    readiness = Readiness(agent_with(instances=queue), None)
    readiness.state = "leading"
    queue.add("x")
    clock.seconds += OLDEST_SECONDS - 1
    assert readiness.report()[0]

    clock.seconds += 1

    is_ready, facts = readiness.report()
    assert not is_ready
    assert facts["oldestSeconds"] == OLDEST_SECONDS


async def test_the_lag_of_a_change_is_its_wait_and_its_pass() -> None:
    """Counted from its sight, by the same clock."""
    passes = Passes()
    passes.queue.add("acme|first")
    passes.clock.seconds += 2
    async with passes.working():
        passes.clock.seconds += 3
        passes.end.set()
        await eventually(passes.idle, within=5, what="the end of the pass")

    assert passes.queue.lag.sum == 5
