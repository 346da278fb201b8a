"""A queue of keys: what needs a pass, never why.

Whose turn it is, is the business of :mod:`privatellm.turns`; namespaces are its groups. This adds the
passes. A key that was added while it was busy waits again when its pass ends.

A pass that fails comes back after a growing delay. A pass decides alone when the next one is due: what
was planned before is forgotten when it starts. The queue does not know what a pass does.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import structlog

from privatellm.errors import ConflictError, KubernetesError, PrivateLLMError, ThrottledError
from privatellm.kube.kinds import Kind
from privatellm.telemetry.passes import TellFailure
from privatellm.turns import Turns

log = structlog.get_logger(__name__)

SHORTEST_DELAY = 1.0
"""Seconds before a failing object that changed meanwhile is looked at again."""


@dataclass(frozen=True, slots=True)
class Key:
    """Names one object that may need a pass; the object may be gone already."""

    kind: Kind
    namespace: str
    name: str

    @property
    def label(self) -> str:
        """The object's name as people write it, for logs."""
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.name} {path}"


class Reconciler(Protocol):
    """Makes the world of one object what it should be."""

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass, and return the seconds after which another is wanted without any event."""


class InTurn:
    """Several concerns of one object, one after the other in each pass."""

    def __init__(self, *concerns: Reconciler) -> None:
        self._concerns = concerns

    async def reconcile(self, key: Key) -> float | None:
        """Do the pass of each concern; the earliest look that one of them wants counts."""
        wanted = [await concern.reconcile(key) for concern in self._concerns]
        return min((seconds for seconds in wanted if seconds is not None), default=None)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a failing object waits, in seconds."""

    first: float = 0.5
    factor: float = 2.0
    longest: float = 30.0
    longest_for_refusals: float = 300.0
    """When the API server said no, only a change of the world helps, and that brings an event."""

    def delay(self, failures: int, error: Exception) -> float:
        """Return the delay after so many failures in a row, the last of which was ``error``."""
        refused = isinstance(error, PrivateLLMError) and not (
            isinstance(error, KubernetesError) and error.retryable
        )
        ceiling = self.longest_for_refusals if refused else self.longest
        grown = min(self.first * self.factor ** min(failures - 1, 32), ceiling)
        return max(grown, error.retry_after) if isinstance(error, ThrottledError) else grown


PassObserver = Callable[[Key, str, float], None]
"""Is told about each pass: key, ``success``, ``conflict``, ``retry`` or ``error``, and seconds."""


def ignore_pass(_key: Key, _result: str, _seconds: float) -> None:
    """Take no note of a pass."""


PassFrame = Callable[[Key], AbstractContextManager[TellFailure]]
"""What is around each pass and around what is logged of it, such as a trace; it is told of a failure."""


def no_frame(_key: Key) -> AbstractContextManager[TellFailure]:
    """Put nothing around a pass."""
    return nullcontext(lambda _error: None)


class WorkQueue:
    """Keys in need of a pass, and the workers that do the passes."""

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        observer: PassObserver = ignore_pass,
        frame: PassFrame = no_frame,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backoff = backoff or Backoff()
        self._observer = observer
        self._frame = frame
        self._turns: Turns[Key] = Turns(lambda key: key.namespace, clock=clock)
        self._failures: dict[Key, int] = {}
        self._open = asyncio.Event()
        self._open.set()
        self._stopping = False

    def __len__(self) -> int:
        """Count the keys that wait for a worker."""
        return len(self._turns)

    @property
    def is_idle(self) -> bool:
        """Whether no key waits for a worker and no worker is busy."""
        return self._turns.is_idle

    @property
    def oldest(self) -> float:
        """Seconds that the longest waiting key has waited."""
        return self._turns.oldest

    def add(self, key: Key) -> None:
        """Ask for a pass over ``key`` as soon as a worker is free."""
        if not self._stopping:
            self._turns.add(key)

    def add_after(self, key: Key, delay: float) -> None:
        """Ask for a pass in ``delay`` seconds; of several such requests the earliest counts."""
        if not self._stopping:
            self._turns.add_after(key, delay)

    def pause(self) -> None:
        """Start no more passes until :meth:`resume`; those that run go on."""
        self._open.clear()

    def resume(self) -> None:
        """Start passes again."""
        self._open.set()

    def stop(self) -> None:
        """Let every worker finish its pass and leave; what still waits is dropped."""
        self._stopping = True
        self._turns.forget_plans()
        self._open.set()
        self._turns.wake()

    async def run(self, reconcilers: Mapping[Kind, Reconciler], *, workers: int) -> None:
        """Work until :meth:`stop`.

        Args:
            reconcilers: Who does the passes over keys of a kind.
            workers: Passes at the same time.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work(reconcilers))

    async def _work(self, reconcilers: Mapping[Kind, Reconciler]) -> None:
        while (key := await self._next()) is not None:
            await self._pass(key, reconcilers[key.kind])

    async def _next(self) -> Key | None:
        await self._turns.permit()
        await self._open.wait()
        if self._stopping:
            # The permit that woke this worker wakes the next one.
            self._turns.wake()
            return None
        return self._turns.take()

    async def _pass(self, key: Key, reconciler: Reconciler) -> None:
        started = asyncio.get_running_loop().time()
        failed = False
        try:
            with self._frame(key) as tell_failure:
                try:
                    delay = await reconciler.reconcile(key)
                    self._failures.pop(key, None)
                    result = "success"
                except Exception as error:  # noqa: BLE001 - one broken object must not end its worker
                    failed = True
                    tell_failure(error)
                    result, delay = self._note_failure(key, error)
        finally:
            changed = self._turns.finish(key)
        self._observer(key, result, asyncio.get_running_loop().time() - started)
        self._plan(key, delay, changed=changed, failed=failed)

    def _note_failure(self, key: Key, error: Exception) -> tuple[str, float]:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(failures, error)
        if isinstance(error, ConflictError):
            # Somebody else wrote in between, which happens all the time and heals by looking again.
            log.info("pass met a change", object=key.label, error=str(error), retry_in=delay)
            return "conflict", delay
        if isinstance(error, PrivateLLMError):
            log.warning("pass failed", object=key.label, error=str(error), retry_in=delay)
            return "retry", delay
        log.error("pass broke", object=key.label, retry_in=delay, exc_info=error)
        return "error", delay

    def _plan(self, key: Key, delay: float | None, *, changed: bool, failed: bool) -> None:
        if changed and not failed:
            self.add(key)
        elif changed and delay is not None:
            # The change may be the cure, or the trace of the failed pass itself.
            self.add_after(key, min(delay, SHORTEST_DELAY))
        elif delay is not None:
            self.add_after(key, delay)
