"""What time it is, by the API server, and how far this machine's clock is from that.

Lives of keys begin at times that the API server wrote, so a clock of ours that is wrong, or that somebody
sets, would end keys too early or too late. Every answer of the API server carries the time in its ``Date``
header (RFC 9110, 6.6.1), in whole seconds; that is coarse, and enough to tell a right clock from a wrong
one. A right one is believed. Between two answers time goes on by the clock that counts seconds since the
machine was started, which nobody can set.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial

WallClock = Callable[[], float]
"""A clock of Unix time in seconds; tests pass their own."""

SteadyClock = Callable[[], float]
"""A clock that only counts seconds; tests pass their own."""

HALF_A_SECOND = 0.5
"""A header says a whole second; on average the answer was sent in the middle of it."""

BELIEVED_SECONDS = 5.0
"""A clock that is no farther from the API server's counts as right; beyond it there is an alarm, too."""

_SINCE_BOOT: SteadyClock = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)


class ServerClock:
    """Remembers what the last answer said about the time."""

    def __init__(self, wall: WallClock = time.time, steady: SteadyClock = _SINCE_BOOT) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead: float | None = None
        # What must be added to the steady clock; until an answer came, our own clock is all we have.
        self._offset = wall() - steady()

    @property
    def seconds_ahead(self) -> float | None:
        """By how much our clock is ahead of the API server's; negative when behind.

        ``None`` before any answer. It is right to about half a second and the
        time that an answer is under way.
        """
        return self._ahead

    def time(self) -> float:
        """Return the Unix time, which is the API server's when ours is wrong."""
        return self._steady() + self._offset

    def note(self, date: str | None) -> None:
        """Take note of the ``Date`` header of an answer that arrived now; nonsense is no news."""
        if date is None:
            return
        try:
            sent = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        steady, wall = self._steady(), self._wall()
        own, said = wall - steady, sent + HALF_A_SECOND - steady
        self._ahead = wall - (sent + HALF_A_SECOND)
        # Ours, if it is right; else what was right before, which does not jump by parts of a second.
        right = (offset for offset in (own, self._offset) if abs(offset - said) <= BELIEVED_SECONDS)
        self._offset = next(right, said)
