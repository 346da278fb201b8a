"""What time it is, for the two questions that need to know.

Expiry is a matter of wall-clock time, because issuer and edge have no other clock in common. Staleness is
a matter of elapsed time and must not be fooled by a clock that is set back, nor by a machine that slept:
hence the time since boot including suspension, which also reads the same in every process of a machine.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

_SINCE_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Only Linux counts suspension; elsewhere a monotonic clock must do."""

Uptime = Callable[[], float]
"""A clock of seconds since boot; tests pass their own."""


class Moment(NamedTuple):
    """One reading of both clocks.

    A named tuple and not a data class, because one is made for every request.

    Attributes:
        wall: Unix time in seconds.
        uptime: Seconds since the machine booted, suspension included.
    """

    wall: float
    uptime: float


uptime: Final[Uptime] = partial(time.clock_gettime, _SINCE_BOOT)
"""Return the seconds since the machine booted, suspension included."""
