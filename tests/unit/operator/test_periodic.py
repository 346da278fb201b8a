"""What is done again and again, and when it is done first."""

import asyncio

import pytest

from privatellm.errors import UnavailableError
from privatellm_operator.periodic import every


async def first_turn(*, at_once: bool) -> str:
    """Return whether the first turn comes before or after a pause that never ends."""
    done = asyncio.Event()

    async def job() -> None:
        done.set()

    task = asyncio.create_task(every(1e6, job, at_once=at_once))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    return "now" if done.is_set() else "later"


@pytest.mark.parametrize(("at_once", "when"), [(True, "now"), (False, "later")])
async def test_the_first_turn_comes_after_a_pause_or_at_once(at_once: bool, when: str) -> None:
    """A new leader looks at once where counting is taken over, and lets other things settle."""
    assert await first_turn(at_once=at_once) == when


@pytest.mark.parametrize(
    "failure",
    [
        UnavailableError("away", reason="Away"),
        RecursionError("maximum recursion depth exceeded"),
        KeyError("uid"),
        ExceptionGroup("lists", [UnavailableError("away", reason="Away")]),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_a_turn_that_fails_is_followed_by_the_next_one(failure: Exception) -> None:
    """An API server that is away ends nothing, and neither does a mistake of ours."""
    turns, third = 0, asyncio.Event()

    async def job() -> None:
        nonlocal turns
        turns += 1
        if turns == 3:
            third.set()
        raise failure

    task = asyncio.create_task(every(0.0, job, at_once=True))
    reached = asyncio.create_task(third.wait())
    ended, _ = await asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)

    assert ended == {reached}
    task.cancel()
