"""The work queue: one pass at a time for a key, turns for groups, patience after failures."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from eventually import eventually
from privatellm.errors import RejectedError, ThrottledError, UnavailableError
from privatellm_sync_agent.engine.queue import Handle, WorkQueue


@asynccontextmanager
async def working(
    queue: WorkQueue[str], handle: Handle[str], workers: int = 2
) -> AsyncIterator[None]:
    task = asyncio.create_task(queue.run(handle, workers=workers))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def reached(condition: Callable[[], bool]) -> None:
    async def look() -> bool:
        return condition()

    await eventually(look, within=5)


async def test_a_key_that_is_added_again_and_again_is_worked_on_once() -> None:
    """A storm of events costs one pass."""
    seen: list[str] = []

    async def handle(key: str) -> None:
        seen.append(key)

    queue: WorkQueue[str] = WorkQueue()
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    async with working(queue, handle):
        await reached(lambda: queue.is_idle)
    assert seen == ["a"]


async def test_two_passes_over_one_key_never_overlap() -> None:
    """A key that changes while it is worked on gets another pass afterwards."""
    running, most, passes = 0, 0, 0
    go = asyncio.Event()

    async def handle(_key: str) -> None:
        nonlocal running, most, passes
        running, passes = running + 1, passes + 1
        most = max(most, running)
        await go.wait()
        running -= 1

    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with working(queue, handle, workers=3):
        await reached(lambda: running == 1)
        queue.add("a")
        queue.add("a")
        go.set()
        await reached(lambda: queue.is_idle)
    assert (most, passes) == (1, 2)


async def test_a_busy_tenant_does_not_hold_another_one_up() -> None:
    """Groups take turns."""
    seen: list[str] = []

    async def handle(key: str) -> None:
        seen.append(key)

    queue: WorkQueue[str] = WorkQueue(group_of=lambda key: key[0])
    for number in range(20):
        queue.add(f"a{number}")
    queue.add("b0")
    async with working(queue, handle, workers=1):
        await reached(lambda: queue.is_idle)
    assert seen.index("b0") == 1


async def test_a_failing_key_comes_back_and_the_others_go_on() -> None:
    """Even when what failed is a mistake of ours."""
    tries: dict[str, int] = {"broken": 0, "fine": 0}

    async def handle(key: str) -> None:
        tries[key] += 1
        if key == "broken" and tries[key] < 3:
            raise ZeroDivisionError if tries[key] == 1 else UnavailableError("gone")

    queue: WorkQueue[str] = WorkQueue()
    queue.add("broken")
    queue.add("fine")
    async with working(queue, handle, workers=1):
        await reached(lambda: queue.is_idle)
    assert tries == {"broken": 3, "fine": 1}


async def test_a_pass_can_ask_for_another_one() -> None:
    """Without any event."""
    passes = 0

    async def handle(_key: str) -> float | None:
        nonlocal passes
        passes += 1
        return 0.01 if passes == 1 else None

    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with working(queue, handle):
        await reached(lambda: passes == 2)


def test_delays_grow_to_a_bound_that_depends_on_the_failure() -> None:
    """A server that asks for patience gets it; a refusal is not repeated every second."""
    queue: WorkQueue[str] = WorkQueue()
    delays = [queue._delay_after("a", UnavailableError("x")) for _ in range(20)]
    refused = [queue._delay_after("b", RejectedError("x")) for _ in range(20)]
    assert delays[0] <= 0.25
    assert max(delays) <= 30
    assert 100 <= max(refused) <= 300
    assert queue._delay_after("c", ThrottledError("x", retry_after=90)) >= 90


async def test_the_lag_of_a_change_counts_waiting_and_failed_attempts_and_nothing_else() -> None:
    """From its sight until a pass succeeded; a pass that only time asked for carries nothing over."""
    attempts = 0

    async def handle(_key: str) -> float | None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise UnavailableError("no answer", status=503, reason="ServiceUnavailable")
        return 0.01 if attempts == 2 else None

    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with working(queue, handle):
        await reached(lambda: attempts == 3 and queue.is_idle)

    assert queue.passes == {"success": 2, "failure": 1}
    assert queue.lag.buckets[-1] == ("+Inf", 1.0)
    assert queue.lag.sum > 0.1
