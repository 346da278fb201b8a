"""The other side of the supervisor: start it, tell it to read its file again, stop it for certain.

The supervisor is whoever holds ``run/supervisor.lock``. We take the lock before there is a process and
hand it over at birth, so there is no moment in which a supervisor exists that nobody can find.

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
from privatellm_local.errors import StartError, StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import holding, logs, status
from privatellm_local.processes.holding import Lock, Role, Signature
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

CLAIM_SECONDS = 1.0
"""How long the lock is tried for: whoever asks whether it is held has it for a moment."""

NAME_SECONDS = 5.0
"""How long a holder of the lock may take to say who it is; it does so anew every second."""

POLL_SECONDS = 0.05


async def start(paths: StatePaths, *, attached: bool) -> SupervisorStatus:
    """Start a supervisor in a session of its own and return its first status.

    Args:
        paths: The environment; its components file must be written.
        attached: The supervisor stops when this process ends.

    Raises:
        StartError: when the supervisor ends or stays silent.
    """
    pid = _spawn(paths, await _claim(paths), attached=attached)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        reported = status.read(paths)
        if reported and reported.supervisor == identify(pid):
            return reported
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
    """Stop the supervisor and every process it owns, and tell whether there was anything to stop.

    Raises:
        StateError: when somebody holds the supervisor's lock and does not say who it is.
    """
    supervisor = await _owner(paths)
    if supervisor is not None:
        await _end_orderly(paths, supervisor)
    last = status.read(paths)
    # A report whose supervisor lives belongs to an environment elsewhere, of which this is a copy.
    has_survivors = last and not is_alive(last.supervisor) and _end_survivors(last)
    return bool(supervisor or has_survivors)


async def _claim(paths: StatePaths) -> Lock:
    deadline = time.monotonic() + CLAIM_SECONDS
    while (lock := holding.take(paths.supervisor_lock)) is None:
        if time.monotonic() > deadline:
            raise StartError(
                f"The supervisor did not start: another supervisor runs in {paths.root}. Stop it with "
                "`privatellm down` and run `privatellm up` again."
            )
        await asyncio.sleep(POLL_SECONDS)
    return lock


def _spawn(paths: StatePaths, lock: Lock, *, attached: bool) -> int:
    """Start the supervisor with the lock, name it as the holder, and let go of the lock ourselves."""
    try:
        os.set_inheritable(lock.descriptor, True)  # noqa: FBT003 - the standard library's signature
        pid = _execute(paths, lock, attached=attached)
        lock.sign(Signature(role=Role.SUPERVISOR, process=identify(pid)))
    finally:
        lock.close()
    return pid


def _execute(paths: StatePaths, lock: Lock, *, attached: bool) -> int:
    argv = [sys.executable, "-P", "-m", "privatellm_local.processes"]
    argv += ["--state", str(paths.root), "--lock", str(lock.descriptor)]
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
            # Kept back until the supervisor listens; it would end a process that does not yet.
            setsigmask=[signal.SIGHUP],
        )


async def _owner(paths: StatePaths) -> ProcessIdentity | None:
    deadline = time.monotonic() + NAME_SECONDS
    while (signature := holding.living(paths.supervisor_lock)) is None:
        if not holding.is_held(paths.supervisor_lock):
            return None
        if time.monotonic() > deadline:
            raise StateError(
                f"{paths.supervisor_lock} is held by a process that does not say who it is: end the one "
                f"that `fuser {paths.supervisor_lock}` names, and run the command again."
            )
        await asyncio.sleep(POLL_SECONDS)
    return signature.process


async def _end_orderly(paths: StatePaths, supervisor: ProcessIdentity) -> None:
    send(supervisor, signal.SIGTERM)
    began = time.monotonic()
    while is_alive(supervisor):
        waited = time.monotonic() - began
        current = status.read(paths)
        has_begun = current and current.supervisor == supervisor and current.stopping
        is_hung = waited > BEGIN_TO_STOP_SECONDS and not has_begun
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
