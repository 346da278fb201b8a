"""One command at a time works on a state directory, and ``down`` always gets its turn.

The lock file names its holder. ``up`` waits for another ``up``; ``down`` asks the holder to give up,
because a person who says "stop" does not want to wait for a start to finish.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from pydantic import ValidationError

from privatellm_local import files
from privatellm_local.paths import StatePaths
from privatellm_local.processes.identity import ProcessIdentity, myself, send
from privatellm_local.progress import Progress

POLL_SECONDS = 0.2

GIVE_UP_SECONDS = 90.0
"""How long a holder may take to stop what it started before it is killed."""


@asynccontextmanager
async def turn(paths: StatePaths, progress: Progress, *, interrupt: bool) -> AsyncIterator[None]:
    """Hold the lock of a state directory.

    Args:
        paths: The environment; its directory must exist.
        progress: Told when we have to wait.
        interrupt: End the holder instead of waiting for it.
    """
    with ExitStack() as stack:
        began = time.monotonic()
        told = False
        while not stack.enter_context(files.exclusive_lock(paths.lock_file, wait=False)):
            stack.close()
            if not told:
                progress.note(
                    "another privatellm command works on this environment; waiting for it"
                )
            if interrupt:
                _interrupt(
                    paths, first=not told, overdue=time.monotonic() - began > GIVE_UP_SECONDS
                )
            told = True
            await asyncio.sleep(POLL_SECONDS)
        _sign(paths)
        yield


def _interrupt(paths: StatePaths, *, first: bool, overdue: bool) -> None:
    holder = _holder(paths)
    if holder is None:
        return
    if overdue:
        send(holder, signal.SIGKILL)
    elif first:
        send(holder, signal.SIGTERM)


def _holder(paths: StatePaths) -> ProcessIdentity | None:
    try:
        return ProcessIdentity.model_validate_json(files.read_text(paths.lock_file) or "")
    except ValidationError:
        # The holder has taken the lock and not signed it yet.
        return None


def _sign(paths: StatePaths) -> None:
    # In place: replacing the file would leave the lock on the one that was there before.
    with files.translated(paths.lock_file):
        paths.lock_file.write_text(myself().model_dump_json(by_alias=True), encoding="utf-8")
