"""From measured requests to figures. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Sample:
    """One request that was answered to its end.

    Attributes:
        first_token_seconds: From sending the request to the first piece of the answer.
        total_seconds: From sending the request to the end of the answer.
        tokens: Tokens of the answer, as the server counted them.
    """

    first_token_seconds: float
    total_seconds: float
    tokens: int

    @property
    def tokens_per_second(self) -> float | None:
        """The pace after the first token; ``None`` when there was none to measure it by."""
        writing = self.total_seconds - self.first_token_seconds
        return (self.tokens - 1) / writing if self.tokens > 1 and writing > 0 else None


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that was seen at one concurrency.

    Attributes:
        concurrency: Requests at the same time.
        seconds: How long the whole run took.
        samples: The answered requests.
        failures: What the others ended with, and how often.
    """

    concurrency: int
    seconds: float
    samples: tuple[Sample, ...]
    failures: Counter[str]

    def figures(self) -> dict[str, Any]:
        """Return the run as numbers; times in seconds, ``None`` where nothing was measured."""
        tokens = sum(sample.tokens for sample in self.samples)
        paces = [pace for s in self.samples if (pace := s.tokens_per_second) is not None]
        return {
            "concurrency": self.concurrency,
            "seconds": round(self.seconds, 3),
            "requests": len(self.samples),
            "failed": self.failures.total(),
            "failures": dict(self.failures),
            "tokens": tokens,
            "tokensPerSecond": _rounded(tokens / self.seconds if self.seconds else None),
            "tokensPerSecondOfARequest": _rounded(percentile(paces, 50)),
            "timeToFirstToken": percentiles([s.first_token_seconds for s in self.samples]),
            "latency": percentiles([s.total_seconds for s in self.samples]),
        }


def percentiles(values: Sequence[float]) -> dict[str, float | None]:
    """Return the percentiles that are reported."""
    return {f"p{percent}": _rounded(percentile(values, percent)) for percent in PERCENTILES}


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile by linear interpolation between the closest ranks; ``None`` for no values."""
    if not values:
        return None
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    lower, upper = math.floor(position), math.ceil(position)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (position - lower)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
