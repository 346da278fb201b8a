"""Log files of components: bounded in size, and the first thing to look at when one ends.

Children write to the files themselves (opened for appending), so a file that has grown too large is
copied aside and truncated rather than renamed under its writer.
"""

import shutil
from pathlib import Path

LARGEST_LOG_BYTES = 32 * 1024 * 1024
TAIL_BYTES = 16 * 1024
LONGEST_LINE = 400
"""Characters of a log line that fit into a status message."""


def rotate(log: Path) -> None:
    """Move the content of a log that has grown too large to ``<log>.1``."""
    if log.exists() and log.stat().st_size > LARGEST_LOG_BYTES:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        with log.open("r+b") as stream:
            stream.truncate(0)


def size(log: Path) -> int:
    """Return the size of a log in bytes; 0 when there is none."""
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, lines: int = 1, *, since: int = 0) -> list[str]:
    """Return the last lines of a log that say something, oldest first.

    Args:
        log: The log file.
        lines: How many.
        since: Ignore what was written before this offset, in bytes.
    """
    if not log.exists():
        return []
    with log.open("rb") as stream:
        end = stream.seek(0, 2)
        # After a rotation the file is shorter than the offset of the last start.
        start = since if since <= end else 0
        stream.seek(max(start, end - TAIL_BYTES))
        text = stream.read().decode(errors="replace")
    written = [line.rstrip()[:LONGEST_LINE] for line in text.splitlines() if line.strip()]
    return written[-lines:]
