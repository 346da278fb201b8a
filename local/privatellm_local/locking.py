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

from privatellm_local import files
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import holding
from privatellm_local.processes.holding import Lock, Role, Signature
from privatellm_local.processes.identity import myself, send
from privatellm_local.progress import Progress

POLL_SECONDS = 0.2

GIVE_UP_SECONDS = 90.0
"""How long a holder may take to stop what it started before it is killed."""


class WithdrawnError(StateError):
    """The environment was removed while we waited for our turn."""


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

    A first ``up`` that was refused removes the directory while others wait for their turn: the next ``up``
    makes it again, and for ``down`` there is nothing left to do.

    Args:
        paths: The environment; its directory must exist.
        progress: Told when we have to wait.
        role: What we want to do; ``DOWN`` ends the holder instead of waiting for it.

    Raises:
        WithdrawnError: when there is nothing to take down any more.
        StateError: when the lock cannot be used.
    """
    waiting = _Waiting(paths, progress, role)
    while (lock := _take(paths, role)) is None:
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


def _take(paths: StatePaths, role: Role) -> Lock | None:
    try:
        return holding.take(paths.lock_file)
    except StateError as error:
        if paths.root.exists():
            raise
        if role is Role.DOWN:
            raise WithdrawnError(f"{paths.root} was removed meanwhile.") from error
    files.make_private_directory(paths.root)
    return holding.take(paths.lock_file)


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
