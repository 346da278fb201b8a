"""The other side of the supervisor: start it, tell it to read its file again, stop it for certain.

Stopping never depends on the supervisor's good will. A supervisor that does not begin to stop, or does
not finish, is killed; the kernel then kills its children, and whatever the last status named is looked
for once more. Only processes whose start time matches are ever signalled.
"""

import asyncio
import os
import signal
import sys
import time

from privatellm_local import files
from privatellm_local.errors import StartError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import logs, status
from privatellm_local.processes.identity import (
    ProcessIdentity,
    identify,
    is_alive,
    send,
    wait_for_exit,
)
from privatellm_local.processes.status import SupervisorStatus

START_SECONDS = 20.0
"""How long a supervisor may take until it publishes its first status."""

BEGIN_TO_STOP_SECONDS = 5.0
"""How long a supervisor may take to acknowledge SIGTERM before it counts as hung."""

STOP_SECONDS = 60.0
"""How long an orderly stop of all components may take."""

POLL_SECONDS = 0.05


async def start(paths: StatePaths, *, attached: bool) -> SupervisorStatus:
    """Start a supervisor in a session of its own and return its first status.

    Args:
        paths: The environment; its components file must be written.
        attached: The supervisor stops when this process ends.

    Raises:
        StartError: when the supervisor ends or stays silent.
    """
    pid = _spawn(paths, attached=attached)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        current = status.read_living(paths)
        if current and current.supervisor.pid == pid:
            return current
        if identify(pid) is None:
            break
        await asyncio.sleep(POLL_SECONDS)
    log = paths.log("supervisor")
    raise StartError(
        f"The supervisor did not start: {' '.join(logs.tail(log)) or 'it said nothing'} (see {log})."
    )


def reload(current: SupervisorStatus) -> None:
    """Make the supervisor read its components file again.

    Raises:
        StartError: when it has ended.
    """
    if not send(current.supervisor, signal.SIGHUP):
        raise StartError("The supervisor has ended: run `privatellm up` again.")


async def stop(paths: StatePaths) -> bool:
    """Stop the supervisor and every process it owns, and tell whether there was anything to stop."""
    current = status.read(paths)
    if current is None:
        return False
    found = is_alive(current.supervisor)
    if found:
        await _end_orderly(paths, current.supervisor)
    # Read again: components may have been started after the first look.
    return _end_survivors(status.read(paths) or current) or found


def _spawn(paths: StatePaths, *, attached: bool) -> int:
    argv = [sys.executable, "-P", "-m", "privatellm_local.processes", "--state", str(paths.root)]
    if attached:
        argv += ["--attached-to", str(os.getpid())]
    log = paths.log("supervisor")
    logs.rotate(log)
    with files.translated(log):
        return os.posix_spawn(
            sys.executable,
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )


async def _end_orderly(paths: StatePaths, supervisor: ProcessIdentity) -> None:
    send(supervisor, signal.SIGTERM)
    began = time.monotonic()
    while is_alive(supervisor):
        waited = time.monotonic() - began
        current = status.read(paths)
        is_hung = waited > BEGIN_TO_STOP_SECONDS and not (current and current.stopping)
        if is_hung or waited > STOP_SECONDS:
            send(supervisor, signal.SIGKILL)
        await asyncio.sleep(POLL_SECONDS)
    wait_for_exit(supervisor, timeout=BEGIN_TO_STOP_SECONDS)


def _end_survivors(last: SupervisorStatus) -> bool:
    processes = [item.process for item in last.components if item.process]
    # The kernel is already killing them when the supervisor was killed; give it a moment.
    survivors = [process for process in processes if not wait_for_exit(process, timeout=0.5)]
    for process in survivors:
        send(process, signal.SIGKILL)
        wait_for_exit(process, timeout=BEGIN_TO_STOP_SECONDS)
    return bool(survivors)
