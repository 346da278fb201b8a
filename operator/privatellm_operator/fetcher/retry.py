"""How long to wait after a failure that can heal: exponential, with full jitter.

Full jitter (a uniform choice between zero and the bound) spreads the replicas of an instance that
failed together. A server's own Retry-After is obeyed up to a limit and never shortened by the
jitter.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently to try again."""

    retries: int
    """Consecutive failures without progress that are forgiven."""
    first_delay_seconds: float = 1.0
    """Bound of the first delay; it doubles with each failure."""
    longest_delay_seconds: float = 60.0
    longest_retry_after_seconds: float = 600.0
    """How long a server may make us wait before we ask again anyway."""

    def delay(self, failure: int, luck: float, retry_after: float | None) -> float:
        """Return the seconds to wait.

        Args:
            failure: 1 for the first failure in a row.
            luck: random number from 0 to 1.
            retry_after: seconds that the server asked for, if it did.
        """
        # The exponent is bounded because a float is.
        bound = min(
            self.longest_delay_seconds, self.first_delay_seconds * 2.0 ** min(failure - 1, 32)
        )
        asked = min(retry_after or 0.0, self.longest_retry_after_seconds)
        return asked + bound * luck
