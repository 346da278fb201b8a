"""Counting how long things took, without a lock and without a metrics library.

For programs whose one thread counts and whose collector reads: a list of integers that a scrape turns into
Prometheus' cumulative buckets.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Distribution:
    """How many values fell below which bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        """Begin with nothing.

        Args:
            bounds: Upper bounds in ascending order; one bucket more takes what is larger.
        """
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """The cumulative buckets, as prometheus-client's collectors want them."""
        return cumulative(self._bounds, self._counts)


def cumulative(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return cumulative buckets with their bounds as text.

    Args:
        bounds: Upper bounds in ascending order.
        counts: Values in each bucket; one more than there are bounds.
    """
    names = (*(str(float(bound)) for bound in bounds), "+Inf")
    return [(name, float(count)) for name, count in zip(names, accumulate(counts), strict=True)]
