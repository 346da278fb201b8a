"""Whose turn it is: the keys that need a pass, and the order in which they get one.

A key is waiting, busy or neither. Adding a waiting key changes nothing and adding a busy one is noted, so
two passes over one object never overlap and a storm of events costs one pass. That also bounds the whole:
there is at most one entry for each object. Groups of keys (namespaces, workspaces) take turns, so one
tenant with a thousand changed objects delays another tenant's first one by a single round.

What happens to a key whose pass fails, and who does the passes, is the queues' business that are built on
this: the operator's and the sync agent's.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Turns(Generic[K]):
    """Keys that wait, keys that are busy, and keys that will wait at a given time."""

    def __init__(
        self, group_of: Callable[[K], Hashable], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin without keys.

        Args:
            group_of: Which group a key belongs to.
            clock: Counts seconds, for the time that keys have waited.
        """
        self._group_of = group_of
        self._clock = clock
        self._ready: dict[Hashable, dict[K, float]] = {}
        self._permits = asyncio.Semaphore(0)
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        """Count the keys that wait."""
        return sum(len(keys) for keys in self._ready.values())

    @property
    def is_idle(self) -> bool:
        """Whether no key waits and none is busy."""
        return not self._ready and not self._busy

    @property
    def oldest(self) -> float:
        """Seconds that the longest waiting key has waited."""
        added = [next(iter(keys.values())) for keys in self._ready.values()]
        return self._clock() - min(added) if added else 0.0

    def add(self, key: K) -> None:
        """Let a key wait, or note that a busy one shall wait again."""
        if key in self._busy:
            self._again.add(key)
            return
        keys = self._ready.setdefault(self._group_of(key), {})
        if key not in keys:
            keys[key] = self._clock()
            self._permits.release()

    def add_after(self, key: K, delay: float) -> None:
        """Let a key wait in ``delay`` seconds; of several such requests the earliest counts."""
        loop = asyncio.get_running_loop()
        planned = self._timers.get(key)
        if planned is not None and planned.when() <= loop.time() + delay:
            return
        self._forget_plan(key)
        self._timers[key] = loop.call_later(delay, self._due, key)

    async def permit(self) -> None:
        """Wait until a key waits; each permit is for one :meth:`take`.

        Everybody else gets a turn first, even when keys wait already. A pass over a settled object asks
        nothing, so it never waits: thousands of them in a row would keep probes and the lease waiting
        for seconds.
        """
        await asyncio.sleep(0)
        await self._permits.acquire()

    def wake(self) -> None:
        """Give one permit without a key, to somebody who then looks why."""
        self._permits.release()

    def take(self) -> K:
        """Return the key whose turn it is; it is busy from now on and what was planned for it is void."""
        group = next(iter(self._ready))
        keys = self._ready.pop(group)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._ready[group] = keys
        self._busy.add(key)
        self._forget_plan(key)
        return key

    def finish(self, key: K) -> bool:
        """End a key's turn, and say whether it was added meanwhile."""
        changed = key in self._again
        self._busy.discard(key)
        self._again.discard(key)
        return changed

    def forget_plans(self) -> None:
        """Drop every key that would only wait later."""
        for key in tuple(self._timers):
            self._forget_plan(key)

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _forget_plan(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
