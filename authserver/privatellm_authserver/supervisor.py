"""Starts the workers, listens to them, and starts them again when they end.

All workers inherit one listening socket. With a socket each (SO_REUSEPORT) the kernel would spread
connections by hash, put the two connections that Traefik keeps on one worker as often as not, and reset
what waits for a worker that crashed; on a shared socket whoever is free accepts, and a crash loses only
what that worker was answering.

A worker's process has a session of its own, so that a signal to the process group reaches the supervisor
alone, which then ends the workers in good order by closing their channels.
"""

import asyncio
import random
import socket
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from privatellm.telemetry.tracing import SpanSink
from privatellm_authserver import clocks
from privatellm_authserver.clocks import Uptime
from privatellm_authserver.fleet import Fleet, WorkerState
from privatellm_authserver.reports import LONGEST_REPORT, Report
from privatellm_authserver.traces import write_spans

HUNG_SECONDS: Final = 30.0
"""A worker that has not reported for this long is killed."""

STOP_SECONDS: Final = 15.0
"""How long a worker may take to answer its last requests before it is killed."""

FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 60.0
"""A worker that ran this long is started again as if it were the first time."""

CommandFor = Callable[[int, int, int], Sequence[str]]
"""Worker number and the descriptors of listener and channel, to a command line."""


def worker_command(number: int, listener: int, channel: int) -> Sequence[str]:
    """Return the command line of a worker."""
    module = "privatellm_authserver.worker"
    descriptors = (f"--listener={listener}", f"--channel={channel}")
    return (sys.executable, "-m", module, f"--number={number}", *descriptors)


class Supervisor:
    """Keeps a fleet running."""

    def __init__(
        self,
        fleet: Fleet,
        listener: socket.socket,
        spans: SpanSink | None = None,
        *,
        command_for: CommandFor = worker_command,
        hung_seconds: float = HUNG_SECONDS,
        stop_seconds: float = STOP_SECONDS,
        uptime: Uptime = clocks.uptime,
    ) -> None:
        """Plan the work; :meth:`run` does it.

        Args:
            fleet: Where the workers' states are kept.
            listener: The socket that all workers accept from.
            spans: Where decisions of kept traces go; ``None`` when nobody wants them.
            command_for: The command line of a worker.
            hung_seconds: Silence after which a worker is killed.
            stop_seconds: How long a worker may take to end when it is told to.
            uptime: The clock.
        """
        self._fleet = fleet
        self._listener = listener
        self._spans = spans
        self._command_for = command_for
        self._hung_seconds = hung_seconds
        self._stop_seconds = stop_seconds
        self._uptime = uptime
        self._stopping = asyncio.Event()
        self._log = structlog.stdlib.get_logger("privatellm.supervisor")

    async def run(self) -> None:
        """Keep every worker running until :meth:`stop`, then wait for their end."""
        async with asyncio.TaskGroup() as places:
            for worker in self._fleet.workers:
                places.create_task(self._keep(worker))

    def stop(self) -> None:
        """Let every worker finish what it has, and end."""
        self._stopping.set()

    async def _keep(self, worker: WorkerState) -> None:
        failures = 0
        while not self._stopping.is_set():
            started = self._uptime()
            code = await self._run_once(worker)
            if self._stopping.is_set():
                return
            worker.ended()
            failures = 0 if self._uptime() - started > SETTLED_SECONDS else failures + 1
            delay = restart_delay(failures)
            self._log.error("worker ended", worker=worker.number, code=code, restart_in=delay)
            await self._sleep(delay)

    async def _run_once(self, worker: WorkerState) -> int | None:
        """Run one process to its end and return its exit code; ``None`` when none could be started."""
        try:
            process, reader, writer = await self._start(worker.number)
        except OSError as error:
            # Descriptors, processes or memory may be used up. The other workers answer meanwhile, and it
            # may pass.
            self._log.error("worker cannot be started", worker=worker.number, why=str(error))
            return None
        ending = asyncio.create_task(self._end_on_stop(process, writer))
        try:
            await self._listen(reader, worker)
            return await asyncio.wait_for(process.wait(), self._stop_seconds)
        except (OSError, ValueError) as error:
            # Silent for too long, or talking nonsense: either way it is of no use.
            self._log.error("worker is killed", worker=worker.number, why=repr(error))
            _kill(process)
            return await process.wait()
        finally:
            ending.cancel()
            writer.close()

    async def _start(self, number: int) -> tuple[Process, StreamReader, StreamWriter]:
        """Start a process and return it with our end of its channel.

        Raises:
            OSError: when the machine, or a limit of ours, does not allow another process.
        """
        listener = self._listener.fileno()
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_REPORT)
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._command_for(number, listener, theirs.fileno()),
                    pass_fds=(listener, theirs.fileno()),
                    start_new_session=True,
                )
            except OSError:
                writer.close()
                raise
        return process, reader, writer

    async def _listen(self, reader: StreamReader, worker: WorkerState) -> None:
        """Take reports in until the worker closes its end."""
        while True:
            line = await self._line(reader)
            if not line.endswith(b"\n"):
                return
            report = Report.from_line(line)
            self._fleet.take(worker, report)
            if self._spans is not None:
                write_spans(report.spans, self._spans)

    async def _line(self, reader: StreamReader) -> bytes:
        """Return the next line.

        Raises:
            TimeoutError: when the worker is silent for too long.
        """
        half = self._hung_seconds / 2
        with suppress(TimeoutError):
            return await asyncio.wait_for(reader.readline(), half)
        # That this wait is over may only mean that we were frozen, and what was said meanwhile is not read
        # yet: a second one reads it, before workers are killed that have done nothing wrong.
        return await asyncio.wait_for(reader.readline(), half)

    async def _end_on_stop(self, process: Process, writer: StreamWriter) -> None:
        """Close our direction of the channel, which is the order to end; reports still come in.

        Who does not follow is killed: for a frozen worker the kubelet would end its patience before ours,
        and kill us before the spans that wait here are sent.
        """
        await self._stopping.wait()
        writer.write_eof()
        await asyncio.sleep(self._stop_seconds)
        self._log.error(
            "worker is killed", pid=process.pid, why="It did not end when it was told to."
        )
        _kill(process)

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _kill(process: Process) -> None:
    """Kill a process, which may have ended meanwhile."""
    with suppress(ProcessLookupError):
        process.kill()


def restart_delay(failures: int) -> float:
    """Return the seconds to wait before a worker is started again: doubling, bounded, jittered."""
    bound = min(FIRST_DELAY_SECONDS * 2.0 ** min(failures, 10), LONGEST_DELAY_SECONDS)
    return bound * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
