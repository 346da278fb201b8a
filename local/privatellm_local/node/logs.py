"""The output of containers: one file per run, of which the present and the previous one are kept.

Processes write into their file themselves, so neither a stopped nor a busy agent blocks them. The price
is that lines carry no timestamps. A file that has grown beyond its bound is copied aside and
truncated; a line written between the two is lost.
"""

import asyncio
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

ROTATE_BYTES = 10 * 1024 * 1024
"""A kubelet's default bound of one log file."""

TERMINATION_LOG_BYTES = 2048
TERMINATION_LOG_LINES = 80
"""How much of a log becomes a termination message (Kubernetes' container termination contract)."""

_CHUNK = 64 * 1024
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class LogSource:
    """A log, and whether something will still be added to it."""

    path: Path
    ended: Callable[[], bool]


def log_file(container_dir: Path, run: int) -> Path:
    """Return the log of one run of a container; runs are counted like restarts."""
    return container_dir / f"{run}.log"


def discard_old(container_dir: Path, run: int) -> None:
    """Remove the logs of every run before the previous one."""
    for path in container_dir.glob("*.log*"):
        number = path.name.partition(".")[0]
        if number.isdigit() and int(number) < run - 1:
            path.unlink(missing_ok=True)


def rotate(path: Path, limit: int = ROTATE_BYTES) -> bool:
    """Move a log aside when it is longer than the limit, in bytes, and say whether it was."""
    if not path.is_file() or path.stat().st_size <= limit:
        return False
    shutil.copyfile(path, path.with_name(path.name + ".1"))
    with path.open("r+b") as file:
        # The writer's file is open for appending, so it goes on at the new end.
        file.truncate(0)
    return True


def last_words(path: Path) -> str:
    """Return the end of a log as a termination message."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TERMINATION_LOG_BYTES))
        text = file.read().decode(errors="replace")
    return "".join(text.splitlines(keepends=True)[-TERMINATION_LOG_LINES:])


def tail_offset(path: Path, lines: int) -> int:
    """Return where the last ``lines`` lines of a file begin, in bytes."""
    if lines <= 0:
        return path.stat().st_size
    starts: deque[int] = deque([0], maxlen=lines)
    position = 0
    with path.open("rb") as file:
        for line in file:
            if position:
                starts.append(position)
            position += len(line)
    return starts[0] if position else 0


async def follow(source: LogSource, offset: int) -> AsyncIterator[bytes]:
    """Yield what is in a log from an offset (in bytes) on, and what is added until it ends."""
    with source.path.open("rb") as file:
        file.seek(offset)
        while True:
            # Asked before reading: whatever was written before the end is then still read.
            last = source.ended()
            while chunk := file.read(_CHUNK):
                yield chunk
            if last:
                return
            if source.path.stat().st_size < file.tell():
                file.seek(0)
            await asyncio.sleep(_POLL_SECONDS)
