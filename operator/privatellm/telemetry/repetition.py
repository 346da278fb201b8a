"""Log lines that a library repeats, at a bounded rate.

While a collector of traces is away, OpenTelemetry says so with every attempt of every batch. The first line
of each kind is written at once, and then one in a while, which says how many like it were left out. What
was left out last is told with the next line of its kind, if there is one; the metrics of spans count on.

A kind is a place in a program's source, so there are as many as somebody wrote. Time is that of the lines.
"""

import logging
import threading
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

REPEAT_SECONDS: Final = 60.0
"""How long a line keeps others of its kind away: an hour's log can be read, and shows that it goes on."""

SUPPRESSED: Final = "suppressed"
"""The attribute of a record that says how many like it were left out before it."""


@dataclass(slots=True)
class _Kind:
    written: float
    suppressed: int = 0


class RepeatedLines(logging.Filter):
    """Lets one line of each kind through in a while; a filter of a handler, for lines of any thread."""

    def __init__(self, loggers: tuple[str, ...], seconds: float = REPEAT_SECONDS) -> None:
        """Limit what some loggers write.

        Args:
            loggers: Beginnings of their names.
            seconds: How long a line keeps others of its kind away.
        """
        super().__init__()
        self._loggers = loggers
        self._seconds = seconds
        self._kinds: dict[tuple[str, int], _Kind] = {}
        self._lock = threading.Lock()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith(self._loggers):
            return True
        with self._lock:
            return self._admits(record)

    def _admits(self, record: logging.LogRecord) -> bool:
        place = record.pathname, record.lineno
        kind = self._kinds.get(place)
        # A clock that was put back must not silence a line until it has caught up.
        if kind is not None and 0 <= record.created - kind.written < self._seconds:
            kind.suppressed += 1
            return False
        if kind is not None and kind.suppressed:
            setattr(record, SUPPRESSED, kind.suppressed)
        self._kinds[place] = _Kind(record.created)
        return True
