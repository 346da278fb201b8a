"""How long the longest waiting object has waited: what `PrivateLLMObjectWaits` looks at."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from eventually import eventually
from privatellm.kube import kinds
from privatellm.telemetry.families import operator as families
from privatellm.turns import Turns
from privatellm_operator.metrics import Metrics
from privatellm_operator.queue import Key, WorkQueue
from telemetry_parts import samples


@dataclass
class Clock:
    """A clock that goes when it is told to."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """A clock in the test's hand."""
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Turns[str]:
    """Nobody waits; keys are grouped by what is before their slash."""
    return Turns(lambda key: key.partition("/")[0], clock=clock)


def test_where_nobody_waits_there_is_no_age(turns: Turns[str], clock: Clock) -> None:
    """An idle queue is not an old one."""
    clock.seconds += 60

    assert turns.oldest == 0


@pytest.mark.parametrize("second", ["acme/b", "globex/b"], ids=["one group", "two groups"])
def test_the_longest_wait_counts_and_ends_with_the_turn(
    turns: Turns[str], clock: Clock, second: str
) -> None:
    """When the key that came first is taken, the next one's wait is the longest."""
    turns.add("acme/a")
    clock.seconds += 5
    turns.add(second)
    clock.seconds += 2

    assert turns.oldest == 7
    assert turns.take() == "acme/a"
    assert turns.oldest == 2
    assert turns.take() == second
    assert turns.oldest == 0


def test_a_group_that_took_its_turn_is_not_forgotten(turns: Turns[str], clock: Clock) -> None:
    """The wait of a tenant's second key goes on while other tenants take theirs."""
    turns.add("acme/a")
    turns.add("acme/b")
    clock.seconds += 3
    turns.add("globex/a")

    assert turns.take() == "acme/a"
    assert turns.take() == "globex/a"
    assert turns.oldest == 3


def test_a_second_event_does_not_make_a_wait_shorter(turns: Turns[str], clock: Clock) -> None:
    """A storm of events cannot hide that nobody comes."""
    turns.add("acme/a")
    clock.seconds += 4
    turns.add("acme/a")

    assert turns.oldest == 4


def test_a_key_that_is_busy_does_not_wait(turns: Turns[str], clock: Clock) -> None:
    """What changed during a pass waits from the end of that pass on."""
    turns.add("acme/a")
    turns.take()
    turns.add("acme/a")
    clock.seconds += 9

    assert turns.oldest == 0
    assert turns.finish("acme/a")
    turns.add("acme/a")
    clock.seconds += 1
    assert turns.oldest == 1


class Gate:
    """A reconciler whose passes end when the test says so."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()

    async def reconcile(self, _key: Key) -> None:
        """Wait for the test."""
        self.entered.set()
        await self.open.wait()


@asynccontextmanager
async def working(queue: WorkQueue, gate: Gate) -> AsyncIterator[None]:
    run = asyncio.create_task(queue.run({kinds.LLM_INSTANCE: gate}, workers=1))
    try:
        await gate.entered.wait()
        yield
    finally:
        gate.open.set()
        queue.stop()
        await run


async def test_the_wait_is_read_when_somebody_scrapes(clock: Clock) -> None:
    """Who has the only worker does not wait; the one behind it does, longer at each look."""
    queue, gate, metrics = WorkQueue(clock=clock), Gate(), Metrics()
    metrics.watch(queue)

    def shown(name: str) -> float:
        [value] = [sample.value for sample in samples(metrics.text()) if sample.name == name]
        return value

    queue.add(Key(kinds.LLM_INSTANCE, "acme", "first"))
    clock.seconds += 1
    queue.add(Key(kinds.LLM_INSTANCE, "acme", "second"))
    clock.seconds += 5
    assert shown(families.QUEUE_OLDEST.name) == 6

    async with working(queue, gate):
        assert shown(families.QUEUE_DEPTH.name) == 1
        assert shown(families.QUEUE_OLDEST.name) == 5
        clock.seconds += 30
        assert shown(families.QUEUE_OLDEST.name) == 35
        gate.open.set()

        async def idle() -> bool:
            return queue.is_idle

        await eventually(idle, within=5, what="the end of both passes")
    assert shown(families.QUEUE_OLDEST.name) == 0
