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


async def test_a_turn_that_fails_is_followed_by_the_next_one() -> None:
    """An API server that is away ends nothing."""
    turns = asyncio.Queue[int]()

    async def job() -> None:
        turns.put_nowait(1)
        raise UnavailableError("away", reason="Away")

    task = asyncio.create_task(every(0.0, job, at_once=True))
    assert [await turns.get(), await turns.get()] == [1, 1]
    task.cancel()
