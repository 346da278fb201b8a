"""Child processes that cannot outlive us.

Every child asks the kernel for SIGKILL when its parent dies (``PR_SET_PDEATHSIG``, Linux). The tie is
to the *thread* that forked, so children are only made in the main thread of a process without others.
Exits are noticed through pidfds in the event loop; no watcher thread is needed.
"""

import asyncio
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal the kernel sends us when our parent ends."""

PARENT_IS_GONE = 125
"""Exit code of a child whose parent died between fork and prctl."""


def end_with(parent: int, number: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent ends.

    Args:
        parent: The pid that our parent must still have; otherwise it has ended already, and so do we.
        number: The signal.
    """
    _tie_to(parent)(int(number))


def _tie_to(parent: int) -> Callable[[int], None]:
    # Everything is looked up here, so that the inner function can run between fork and exec.
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def tie(number: int) -> None:
        prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(PARENT_IS_GONE)

    return tie


class Child:
    """A running process in a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._handle = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._collect)

    @classmethod
    def start(cls, argv: tuple[str, ...], environment: Mapping[str, str], log: Path) -> "Child":
        """Start a process that writes to a log file and dies with us.

        Raises:
            OSError: when the program cannot be executed or the log cannot be written.
        """
        with log.open("ab") as stream:
            process = subprocess.Popen(
                argv,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
                # Safe because this process has no other thread.
                preexec_fn=partial(_tie_to(os.getpid()), signal.SIGKILL),  # noqa: PLW1509
            )
        return cls(process)

    @property
    def pid(self) -> int:
        """The process id, which stays reserved until the exit was collected."""
        return self._process.pid

    async def wait(self) -> int:
        """Return the exit code once the process has ended; negative for a signal."""
        return await asyncio.shield(self._exited)

    async def stop(self, grace_seconds: float) -> None:
        """Ask the process group to end, insist after the grace period, and wait until it has."""
        self._signal_group(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_seconds):
                await self.wait()
        except TimeoutError:
            self._signal_group(signal.SIGKILL)
            await self.wait()

    def _collect(self) -> None:
        code = self._process.wait()
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._exited.set_result(code)

    def _signal_group(self, number: signal.Signals) -> None:
        # The exit has not been collected yet, so the pid cannot have been given to somebody else.
        if not self._exited.done():
            os.killpg(self.pid, number)
