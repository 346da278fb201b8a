"""Which process do we mean?

A pid alone may belong to somebody else tomorrow. Together with the start time and the boot it names
one process for ever, and a pidfd that was opened before the comparison cannot be recycled after it.
"""

import asyncio
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

START_TIME_FIELD = 21
"""Index of ``starttime`` in ``/proc/<pid>/stat`` (proc(5), field 22), counted in clock ticks since boot."""

STATE_FIELD = 2


class ProcessIdentity(BaseModel):
    """One process of one boot of this machine."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    pid: int
    start_ticks: int
    boot_id: str


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a living process, or ``None`` when there is none (zombies are dead)."""
    try:
        # The command name is in parentheses and may itself contain spaces and parentheses.
        head, _, tail = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")
        fields = [head, "", *tail.split()]
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[STATE_FIELD] in {"Z", "X"}:
        return None
    return ProcessIdentity(pid=pid, start_ticks=int(fields[START_TIME_FIELD]), boot_id=boot_id)


def myself() -> ProcessIdentity:
    """Return the identity of this process."""
    identity = identify(os.getpid())
    if identity is None:
        raise RuntimeError("/proc does not show this process; it must be mounted")
    return identity


def is_alive(identity: ProcessIdentity) -> bool:
    """Return whether exactly this process still runs."""
    return identify(identity.pid) == identity


def started_at(identity: ProcessIdentity) -> datetime:
    """Return when a process of this boot was started, to a hundredth of a second."""
    since_boot = identity.start_ticks / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot
    return datetime.fromtimestamp(time.time() - age, UTC)


def send(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Send a signal to exactly this process, and tell whether it was there to get it."""
    with _handle(identity) as handle:
        if handle is None:
            return False
        try:
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        return True


def wait_for_exit(identity: ProcessIdentity, timeout: float) -> bool:
    """Wait until exactly this process has ended, and tell whether it has.

    Args:
        identity: The process; it need not be a child of ours.
        timeout: The longest wait, in seconds.
    """
    with _handle(identity) as handle:
        if handle is not None:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            if not poller.poll(timeout * 1000):
                return False
    _reap(identity.pid)
    return True


async def exited(identity: ProcessIdentity) -> None:
    """Return when exactly this process has ended."""
    loop = asyncio.get_running_loop()
    with _handle(identity) as handle:
        if handle is not None:
            ended = asyncio.Event()
            loop.add_reader(handle, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(handle)
    _reap(identity.pid)


@contextmanager
def _handle(identity: ProcessIdentity) -> Iterator[int | None]:
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield handle if is_alive(identity) else None
    finally:
        os.close(handle)


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        # Not a child of ours: init collects it.
        return
