"""Run one ``go`` command: line by line, logged, and gone when we are gone."""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from privatellm_local.processes import tied

REMEMBERED_LINES = 40
STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    output: tuple[str, ...]
    """Lines of the standard output."""

    last_errors: tuple[str, ...]
    """The last lines of the standard error output."""


async def run(
    argv: tuple[str, ...],
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Path,
    on_line: Callable[[str], None],
) -> Outcome:
    """Run a command to its end; a cancelled caller takes the command with it.

    Args:
        argv: The command.
        directory: Where it runs.
        environment: All its variables.
        log: File that its error output is appended to.
        on_line: Called with each line of the error output, where ``go`` reports what it does.
    """
    process = await asyncio.create_subprocess_exec(
        *tied.command(*argv),
        cwd=directory,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        process_group=0,
    )
    last: deque[str] = deque(maxlen=REMEMBERED_LINES)
    try:
        output, _ = await asyncio.gather(
            _lines(process.stdout), _follow(process.stderr, log, last, on_line)
        )
        code = await process.wait()
    finally:
        await _end(process)
    return Outcome(code, tuple(output), tuple(last))


async def _lines(stream: asyncio.StreamReader | None) -> list[str]:
    content = await stream.read() if stream else b""
    return content.decode(errors="replace").splitlines()


async def _follow(
    stream: asyncio.StreamReader | None,
    log: Path,
    last: deque[str],
    on_line: Callable[[str], None],
) -> None:
    if stream is None:
        return
    with log.open("ab") as copy:
        async for raw in stream:
            copy.write(raw)
            line = raw.decode(errors="replace").rstrip()
            last.append(line)
            on_line(line)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    # The group, because `go` runs compilers.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
