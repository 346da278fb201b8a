"""A queue of keys: what needs a pass, never why.

Whose turn it is, is the business of :mod:`privatellm.turns`; workspaces are its groups. This adds the
passes. Failing keys come back after growing, jittered delays, so a server that returns is not met by
everything at once. It also measures how long changes wait until a pass has carried them over.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

import structlog

from privatellm.errors import KubernetesError, PrivateLLMError, ThrottledError
from privatellm.telemetry.distribution import Distribution
from privatellm.telemetry.families.sync_agent import LAG
from privatellm.telemetry.passes import TellFailure
from privatellm.turns import Turns
from privatellm_sync_agent.engine.gate import Gate

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)
Handle = Callable[[K], Awaitable[float | None]]
"""One pass over a key; returns the seconds after which another is wanted without any event."""

Frame = Callable[[K], AbstractContextManager[TellFailure]]
"""What is around each pass and around what is logged of it; it is told of a failure."""

FIRST_DELAY, LONGEST_DELAY, LONGEST_AFTER_REFUSAL = 0.25, 30.0, 300.0


def _one_group(_key: Hashable) -> Hashable:
    return ""


def _no_frame(_key: Hashable) -> AbstractContextManager[TellFailure]:
    return nullcontext(lambda _error: None)


class WorkQueue(Generic[K]):
    """Keys in need of a pass, and the workers that do the passes.

    Args:
        group_of: Which group a key belongs to.
        gate: Every pass goes through it; absent: one that is always open.
        frame: Put around each pass.
        clock: Counts seconds, for the time that keys have waited.
    """

    def __init__(
        self,
        group_of: Callable[[K], Hashable] = _one_group,
        gate: Gate | None = None,
        frame: Frame[K] = _no_frame,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._turns: Turns[K] = Turns(group_of, clock=clock)
        self._gate = gate or Gate()
        self._frame = frame
        self._failures: dict[K, int] = {}
        self._changed_at: dict[K, float] = {}
        self.lag = Distribution(LAG.buckets)
        self.passes = {"success": 0, "failure": 0}

    def __len__(self) -> int:
        """Count the keys that wait for a worker."""
        return len(self._turns)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, is worked on or is due to be tried again after a failure."""
        return self._turns.is_idle and not self._failures

    @property
    def failing(self) -> int:
        """How many keys' last passes failed."""
        return len(self._failures)

    @property
    def oldest(self) -> float:
        """Seconds that the longest waiting key has waited."""
        return self._turns.oldest

    def add(self, key: K) -> None:
        """Ask for a pass as soon as a worker is free, because something changed."""
        self._changed_at.setdefault(key, self._clock())
        self._turns.add(key)

    def add_after(self, key: K, delay: float) -> None:
        """Ask for a pass in ``delay`` seconds; of several such requests the earliest counts."""
        self._turns.add_after(key, delay)

    async def run(self, handle: Handle[K], *, workers: int) -> None:
        """Work until cancelled; what is planned is dropped then.

        Args:
            handle: Does one pass.
            workers: Passes at the same time.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(handle))
        finally:
            self._turns.forget_plans()

    async def _work(self, handle: Handle[K]) -> None:
        while True:
            await self._turns.permit()
            async with self._gate.passing():
                await self._pass(self._turns.take(), handle)

    async def _pass(self, key: K, handle: Handle[K]) -> None:
        failed = False
        # What changes during the pass may be too late for it, and is measured by the next one.
        changed_at = self._changed_at.pop(key, None)
        try:
            with self._frame(key) as tell_failure:
                try:
                    delay = await handle(key)
                    self._note_success(key, changed_at)
                except Exception as error:  # noqa: BLE001 - one broken object must not end its worker
                    failed = True
                    tell_failure(error)
                    delay = self._delay_after(key, error)
                    if changed_at is not None:
                        self._changed_at[key] = changed_at
        finally:
            changed = self._turns.finish(key)
        # A change that came during a failed pass may be the trace of that pass itself.
        if changed and not failed:
            self.add(key)
        elif delay is not None:
            self.add_after(key, delay)

    def _note_success(self, key: K, changed_at: float | None) -> None:
        self._failures.pop(key, None)
        self.passes["success"] += 1
        if changed_at is not None:
            self.lag.observe(self._clock() - changed_at)

    def _delay_after(self, key: K, error: Exception) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self.passes["failure"] += 1
        if isinstance(error, PrivateLLMError):
            log.info("pass failed", key=str(key), failures=failures, error=str(error))
        else:
            log.error("pass broke", key=str(key), failures=failures, exc_info=error)
        retryable = isinstance(error, KubernetesError) and error.retryable
        ceiling = LONGEST_DELAY if retryable else LONGEST_AFTER_REFUSAL
        delay: float = min(FIRST_DELAY * 2 ** min(failures - 1, 16), ceiling)
        jittered = delay * random.uniform(0.5, 1.0)  # noqa: S311 - jitter against herds
        asked = error.retry_after if isinstance(error, ThrottledError) else 0.0
        return max(jittered, asked)
