"""A wall clock that a test can step, for every Python process that finds this directory on its path.

It changes what Python code reads as the time of day, as a person or a time server would that sets the
machine's clock; the clocks that only count seconds go on, as they do then. What is not Python is not
reached. The file that ``CHAOS_CLOCK`` names holds the seconds by which the clock is ahead.
"""

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

_STEP = Path(os.environ["CHAOS_CLOCK"])
_time, _time_ns, _datetime = time.time, time.time_ns, dt.datetime


def _ahead() -> float:
    try:
        return float(_STEP.read_text())
    except (OSError, ValueError):
        return 0.0  # No test has stepped it yet.


class _AnyDatetime(type):
    """Lets times that others made pass for times of ours."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _datetime)


class _Stepped(_datetime, metaclass=_AnyDatetime):
    """Times of day, by the stepped clock."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """Return the stepped time."""
        return _datetime.fromtimestamp(time.time(), tz)


time.time = lambda: _time() + _ahead()
time.time_ns = lambda: _time_ns() + int(_ahead() * 1e9)
dt.datetime = _Stepped  # type: ignore[misc]
