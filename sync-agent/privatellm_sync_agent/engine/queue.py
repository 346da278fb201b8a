"""A queue of keys: what needs a pass, never why.

A key waits at most once and is never worked on twice at a time. Groups (workspaces) take turns, so a tenant
with a thousand changes delays another's first one by a single round. Failing keys come back after growing,
jittered delays, so a server that returns is not met by everything at once.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

from privatellm.errors import KubernetesError, PrivateLLMError, ThrottledError

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)
Handle = Callable[[K], Awaitable[float | None]]
"""One pass over a key; returns the seconds after which another is wanted without any event."""

FIRST_DELAY, LONGEST_DELAY, LONGEST_AFTER_REFUSAL = 0.25, 30.0, 300.0


def _one_group(_key: Hashable) -> Hashable:
    return ""


class WorkQueue(Generic[K]):
    """Keys in need of a pass, and the workers that do the passes.

    Args:
        group_of: Which group a key belongs to.
        gate: Passes start only while it is set.
    """

    def __init__(
        self,
        group_of: Callable[[K], Hashable] = _one_group,
        gate: asyncio.Event | None = None,
    ) -> None:
        self._group_of = group_of
        self._gate = gate
        self._ready: dict[Hashable, dict[K, float]] = {}
        self._waiting = asyncio.Semaphore(0)
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}

    def __len__(self) -> int:
        """Count the keys that wait for a worker."""
        return sum(len(keys) for keys in self._ready.values())

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, is worked on or is due to be tried again after a failure."""
        return not self._ready and not self._busy and not self._failures

    @property
    def failing(self) -> int:
        """How many keys' last passes failed."""
        return len(self._failures)

    @property
    def oldest(self) -> float:
        """Seconds that the longest waiting key has waited."""
        added = [next(iter(keys.values())) for keys in self._ready.values()]
        return time.monotonic() - min(added) if added else 0.0

    def add(self, key: K) -> None:
        """Ask for a pass as soon as a worker is free."""
        if key in self._busy:
            self._again.add(key)
            return
        keys = self._ready.setdefault(self._group_of(key), {})
        if key not in keys:
            keys[key] = time.monotonic()
            self._waiting.release()

    def add_after(self, key: K, delay: float) -> None:
        """Ask for a pass in ``delay`` seconds; of several such requests the earliest counts."""
        loop = asyncio.get_running_loop()
        planned = self._timers.get(key)
        if planned is not None and planned.when() <= loop.time() + delay:
            return
        self._forget_plan(key)
        self._timers[key] = loop.call_later(delay, self._due, key)

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
            for key in tuple(self._timers):
                self._forget_plan(key)

    async def _work(self, handle: Handle[K]) -> None:
        while True:
            await self._waiting.acquire()
            if self._gate is not None:
                await self._gate.wait()
            await self._pass(self._take(), handle)

    def _take(self) -> K:
        group = next(iter(self._ready))
        keys = self._ready.pop(group)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._ready[group] = keys
        self._busy.add(key)
        self._forget_plan(key)
        return key

    async def _pass(self, key: K, handle: Handle[K]) -> None:
        try:
            delay = await handle(key)
            self._failures.pop(key, None)
        except Exception as error:  # noqa: BLE001 - one broken object must not end its worker
            delay = self._delay_after(key, error)
            # The change that came meanwhile may be the trace of the failed pass itself.
            self._again.discard(key)
        finally:
            self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        elif delay is not None:
            self.add_after(key, delay)

    def _delay_after(self, key: K, error: Exception) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
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

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _forget_plan(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
