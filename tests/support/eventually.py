"""Wait for a condition with a deadline: the only way tests wait for anything."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_SECONDS = 0.05


async def eventually(
    look: Callable[[], Awaitable[T]], *, within: float = 20.0, what: str = "the condition"
) -> T:
    """Return what ``look`` returns as soon as it is truthy and raises no assertion.

    Args:
        look: Looks at the world once; returns something falsy or fails an assertion to look again.
        within: Seconds until the test fails.
        what: What is waited for, for the failure's message.
    """
    deadline = time.monotonic() + within
    while True:
        try:
            seen: object = await look()
            if seen:
                return seen  # type: ignore[return-value]
        except AssertionError as error:
            seen = error
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} was not reached within {within:g} s; last seen: {seen!r}")
        await asyncio.sleep(PAUSE_SECONDS)
