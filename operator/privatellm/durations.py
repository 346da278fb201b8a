"""Durations as Kubernetes users write them: ``720h``, ``1h30m``, ``90s`` (Go's ``time.Duration``)."""

import re
from datetime import timedelta

from privatellm.errors import InvalidInputError

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
"""The same rule for the CRD's schema; a sign is left out because none of our durations is negative."""

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str) -> timedelta:
    """Return the duration that ``text`` names.

    Raises:
        InvalidInputError: when ``text`` is not a sum of numbers with the units ms, s, m and h.
    """
    if not re.fullmatch(PATTERN, text):
        raise InvalidInputError(
            f"A duration is a number with a unit of ms, s, m or h, such as 720h; got {text!r}."
        )
    return timedelta(seconds=sum(float(n) * _SECONDS[unit] for n, unit in _PART.findall(text)))
