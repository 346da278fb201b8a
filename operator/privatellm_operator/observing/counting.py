"""How counters of others are added up."""

from typing import TypeVar

N = TypeVar("N", int, float)


def growth(before: N, now: N) -> N:
    """Return what a counter counted since; one that is smaller was forgotten meanwhile and began anew."""
    return now - before if now >= before else now
