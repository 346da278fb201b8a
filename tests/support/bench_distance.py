"""Whether kinds of guesses can be told apart by the time of their answers: pure statistics, no clock.

Each round gives one time of each kind, and a kind's distance is the mean of its differences from the
reference in the same round. Were the two equal, each of these differences could as well have had the other
sign, since the order and the memory of a round's guesses are drawn by lot. Hoeffding's inequality bounds
how far a mean with signs by lot gets from zero, with any number of rounds and any distribution: that bound
is the noise, and it is made of nothing but the differences of this run. It holds for all kinds together
(Bonferroni), so where nothing leaks, less than one run in a hundred tells any kind from the reference.

Rounds in which something else got the processor would swamp the mean, so the tenth of the differences that
are farthest from zero are cut to the next one's size. That looks at sizes alone, and signs stay by lot.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.99
"""The share of runs in which no kind is told from the reference when all are equal, at least."""

CUT_SHARE = 0.1
"""The share of differences whose size is cut."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a kind is from the reference, in nanoseconds.

    Attributes:
        kind: What was guessed.
        ns: Median time of an answer.
        difference_ns: Mean difference from the reference of the same round.
        noise_ns: How large that mean gets when nothing but chance is at work.
        allowed_ns: A difference that tells nothing secret.
    """

    kind: str
    ns: float
    difference_ns: float
    noise_ns: float
    allowed_ns: float = 0.0

    @property
    def is_told(self) -> bool:
        """Whether the kind can be told from the reference, beyond what is allowed."""
        return abs(self.difference_ns) > max(self.noise_ns, self.allowed_ns)


def distances(
    times: Mapping[str, Sequence[float]], allowed: Mapping[str, float] | None = None
) -> list[Distance]:
    """Return the distance of each kind from the first one.

    Args:
        times: Nanoseconds of each kind, one for each round; the rounds of all kinds are the same ones.
        allowed: Nanoseconds by which a kind may differ.
    """
    (reference, base), *others = times.items()
    rows = [Distance(reference, statistics.median(base), 0.0, 0.0)]
    for kind, mine in others:
        differences = cut([ns - other for ns, other in zip(mine, base, strict=True)])
        rows.append(
            Distance(
                kind=kind,
                ns=statistics.median(mine),
                difference_ns=statistics.fmean(differences),
                noise_ns=noise(differences, (1 - LEVEL) / len(others)),
                allowed_ns=(allowed or {}).get(kind, 0.0),
            )
        )
    return rows


def cut(differences: Sequence[float]) -> list[float]:
    """Return the differences, none of them larger than the largest that is no outlier."""
    sizes = sorted(map(abs, differences))
    limit = sizes[int((1 - CUT_SHARE) * (len(sizes) - 1))]
    return [max(-limit, min(limit, one)) for one in differences]


def noise(differences: Sequence[float], chance: float) -> float:
    """Return the size that a mean of these has with no more than this chance when signs are by lot.

    W. Hoeffding, Probability inequalities for sums of bounded random variables, 1963, theorem 2.
    """
    squares = math.fsum(one * one for one in differences)
    return math.sqrt(2 * math.log(2 / chance) * squares) / len(differences)
