"""One container as one process group of this machine.

The group dies with its leader, as a container dies with its first process, and the leader dies with
the agent: ``PR_SET_PDEATHSIG`` makes the kernel kill it even when the agent is killed. That signal is bound
to the thread that forked, which is the event loop's, and grandchildren escape it; what is left over is
swept when the agent starts (:mod:`.leftovers`).
"""

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from privatellm_local.node.errors import NodeError

_PR_SET_PDEATHSIG = 1
_UMASK = 0o077

_FIRST_SIGNAL_CODE = 128
"""A process killed by signal N is reported with exit code 128 + N, as shells and kubelets do."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process ended."""

    code: int
    signal: int | None = None

    @classmethod
    def of(cls, return_code: int) -> Self:
        """Read the return code of :mod:`subprocess`, which is negative after a signal."""
        if return_code < 0:
            return cls(_FIRST_SIGNAL_CODE - return_code, -return_code)
        return cls(return_code)


@dataclass(frozen=True, slots=True)
class Command:
    """Everything that decides what a process does."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path


class ProcessStartError(NodeError):
    """The operating system could not start the program."""


class ContainerProcess:
    """A running process group."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, command: Command) -> Self:
        """Start a process whose output is appended to the command's log.

        Raises:
            ProcessStartError: when the program is absent or may not be executed.
        """
        descriptor = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                env=dict(command.environment),
                cwd=command.directory,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,
                umask=_UMASK,
                preexec_fn=_die_with_parent(),
            )
        except (OSError, ValueError) as error:
            # ValueError is a NUL byte in an argument.
            raise ProcessStartError(f"{command.argv[0]} cannot be started: {error}") from error
        finally:
            os.close(descriptor)
        return cls(process)

    @property
    def pid(self) -> int:
        """Process id of the leader, which is also the id of its group and session."""
        return self._process.pid

    async def wait(self) -> ExitStatus:
        """Wait until the leader ends, end what is left of its group, and say how the leader ended."""
        code = await self._process.wait()
        self._signal(signal.SIGKILL)
        return ExitStatus.of(code)

    async def stop(self, grace_seconds: float) -> None:
        """Ask the group to end, and kill it when it has not after the grace period."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), grace_seconds)
        except TimeoutError:
            self.kill()
            await self._process.wait()

    def kill(self) -> None:
        """End the group at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Nobody of the group is left, or none of it is ours any more (a reused id).
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _die_with_parent() -> Callable[[], None]:
    # Looked up before the fork: between fork and exec only async-signal-safe work is allowed.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # The agent died before the request above: the kernel will not tell us any more.
            os._exit(1)

    return in_child
