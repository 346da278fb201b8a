"""Progress as JSON log lines: often enough to be watched, seldom enough to be kept.

A line is due when 2 seconds or 5 % have passed since the last one, whichever comes first, so that a
fast copy writes at most twenty lines and a slow download shows that it is alive.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO, TypeAlias

INTERVAL_SECONDS = 2.0
STEP_PERCENT = 5.0

Log: TypeAlias = Callable[..., None]
"""Writes one event with its fields: ``log("progress", percent=12.5)``."""


def json_lines(stream: TextIO, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Log:
    """Return a log that writes JSON lines to a stream."""

    def log(event: str, **fields: Any) -> None:
        line = {"timestamp": now().isoformat(timespec="milliseconds"), "event": event, **fields}
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        stream.flush()

    return log


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the last reported progress was."""

    at_seconds: float
    done: int


def is_due(last: Mark | None, current: Mark, total: int | None) -> bool:
    """Whether progress should be reported again."""
    if last is None or current.at_seconds - last.at_seconds >= INTERVAL_SECONDS:
        return True
    return total is not None and 100 * (current.done - last.done) >= STEP_PERCENT * total


def _speed(last: Mark | None, current: Mark) -> dict[str, int]:
    """Return the speed since the last report; two marks of one moment have none."""
    if last is None or current.at_seconds <= last.at_seconds:
        return {}
    speed = (current.done - last.done) / (current.at_seconds - last.at_seconds)
    return {"bytes_per_second": round(speed)}


class Progress:
    """Reports how much of one file is there."""

    def __init__(self, log: Log, clock: Callable[[], float], total: int | None) -> None:
        """Start a report.

        Args:
            log: where the lines go.
            clock: monotonic seconds.
            total: length of the file in bytes, if it is known.
        """
        self._log = log
        self._clock = clock
        self._total = total
        self._last: Mark | None = None

    def at(self, done: int) -> None:
        """Take note that so many bytes of the file are there."""
        current = Mark(self._clock(), done)
        is_whole = done == self._total
        if not is_whole and not is_due(self._last, current, self._total):
            return
        fields: dict[str, float] = {"bytes": done}
        if self._total:
            fields |= {"total_bytes": self._total, "percent": self._percent(done)}
        self._log("progress", **fields, **_speed(self._last, current))
        self._last = current

    def _percent(self, done: int) -> float:
        return round(100 * done / self._total, 1) if self._total else 100.0
