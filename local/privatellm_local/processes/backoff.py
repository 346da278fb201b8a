"""How long to wait before a component that ended is started again."""

from dataclasses import dataclass

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0

STABLE_AFTER_SECONDS = 60.0
"""A process that ran this long had a fresh problem, so its delays start from the beginning."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The number of quick failures in a row."""

    failures: int = 0

    @property
    def delay(self) -> float:
        """Seconds to wait now: doubling, with an upper bound."""
        doublings = min(max(0, self.failures - 1), 16)
        return min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * float(1 << doublings))

    def after_run(self, uptime_seconds: float) -> "Backoff":
        """Return the back-off after a process ended that ran for so long."""
        return Backoff(1 if uptime_seconds >= STABLE_AFTER_SECONDS else self.failures + 1)
