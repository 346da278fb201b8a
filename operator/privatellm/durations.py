"""Durations as Kubernetes users write them: ``720h``, ``1h30m``, ``90s`` (Go's ``time.Duration``)."""

import re
from datetime import timedelta
from fractions import Fraction

from privatellm.errors import InvalidInputError

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
"""The same rule for the CRD's schema; a sign is left out because none of our durations is negative."""

LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
"""What Go, and so CEL in the CRD, can count in nanoseconds: about 292 years."""

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_MICROSECONDS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}


def parse_duration(text: str) -> timedelta:
    """Return the duration that ``text`` names, to the microsecond.

    Raises:
        InvalidInputError: when ``text`` is not a sum of numbers with the units ms, s, m and h, or is longer
            than Go can count.
    """
    if not re.fullmatch(PATTERN, text):
        raise InvalidInputError(
            f"A duration is a number with a unit of ms, s, m or h, such as 720h; got {text!r}."
        )
    # Fractions, because a float would turn 0.1s into a little more or less.
    parts = (Fraction(number) * _MICROSECONDS[unit] for number, unit in _PART.findall(text))
    microseconds = int(sum(parts))
    if microseconds > LONGEST // timedelta(microseconds=1):
        raise InvalidInputError(f"A duration is at most 2562047h (292 years); got {text!r}.")
    return timedelta(microseconds=microseconds)
