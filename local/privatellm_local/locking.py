"""One command at a time works on a state directory, and ``down`` always gets its turn.

The lock file names its holder and what it is doing, which ``status`` shows. ``up`` waits for another
``up``; ``down`` asks the holder to give up, because a person who says "stop" does not want to wait for a
start to finish.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from privatellm_local.paths import StatePaths
from privatellm_local.processes import holding
from privatellm_local.processes.holding import Lock, Role, Signature
from privatellm_local.processes.identity import myself, send
from privatellm_local.progress import Progress

POLL_SECONDS = 0.2

GIVE_UP_SECONDS = 90.0
"""How long a holder may take to stop what it started before it is killed."""


class Turn:
    """The right to work on a state directory.

    Args:
        lock: The lock, which is held.
        role: What we do.
        has_interrupted: Another command was ended for it.
    """

    def __init__(self, lock: Lock, role: Role, *, has_interrupted: bool) -> None:
        self.has_interrupted = has_interrupted
        self._lock = lock
        self._role = role
        self.say("")

    def say(self, stage: str) -> None:
        """Let others read what we are doing."""
        self._lock.sign(Signature(role=self._role, process=myself(), stage=stage))

    def end(self) -> None:
        """Let others read that we are done."""
        self._lock.sign(Signature(role=self._role, process=None))


@asynccontextmanager
async def turn(paths: StatePaths, progress: Progress, role: Role) -> AsyncIterator[Turn]:
    """Hold the lock of a state directory.

    Args:
        paths: The environment; its directory must exist.
        progress: Told when we have to wait.
        role: What we want to do; ``DOWN`` ends the holder instead of waiting for it.
    """
    waiting = _Waiting(paths, progress, role)
    while (lock := holding.take(paths.lock_file)) is None:
        waiting.once()
        await asyncio.sleep(POLL_SECONDS)
    try:
        ours = Turn(lock, role, has_interrupted=waiting.has_interrupted)
        try:
            yield ours
        finally:
            ours.end()
    finally:
        lock.close()


class _Waiting:
    """What has been done so far to get the lock."""

    def __init__(self, paths: StatePaths, progress: Progress, role: Role) -> None:
        self.has_interrupted = False
        self._paths = paths
        self._progress = progress
        self._role = role
        self._began = time.monotonic()
        self._has_told = False

    def once(self) -> None:
        if not self._has_told:
            self._has_told = True
            self._progress.note(
                "another privatellm command works on this environment; waiting for it"
            )
        if self._role is Role.DOWN:
            self._interrupt()

    def _interrupt(self) -> None:
        holder = holding.living(self._paths.lock_file)
        if holder is None or holder.process is None:
            return  # It has taken the lock and not signed it yet.
        if not self.has_interrupted:
            self.has_interrupted = send(holder.process, signal.SIGTERM)
        elif time.monotonic() - self._began > GIVE_UP_SECONDS:
            send(holder.process, signal.SIGKILL)
