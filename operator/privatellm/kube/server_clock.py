"""How far this machine's clock is from the API server's.

Expiry is judged by our clock against times that the API server wrote, so a clock that is wrong ends keys
too early or too late. Every answer of the API server carries the time in its ``Date`` header (RFC 9110,
6.6.1), in whole seconds; that is coarse, and enough to notice what matters. Nothing here corrects a clock.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

WallClock = Callable[[], float]
"""A clock of Unix time in seconds; tests pass their own."""

HALF_A_SECOND = 0.5
"""A header says a whole second; on average the answer was sent in the middle of it."""


class ServerClock:
    """Remembers what the last answer said about the time."""

    def __init__(self, wall: WallClock = time.time) -> None:
        self._wall = wall
        self._ahead: float | None = None

    @property
    def seconds_ahead(self) -> float | None:
        """By how much our clock is ahead of the API server's; negative when behind.

        ``None`` before any answer. It is right to about half a second and the
        time that an answer is under way.
        """
        return self._ahead

    def note(self, date: str | None) -> None:
        """Take note of the ``Date`` header of an answer that arrived now; nonsense is no news."""
        if date is None:
            return
        try:
            sent = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        self._ahead = self._wall() - (sent + HALF_A_SECOND)
