"""Kubernetes quantities (``500m``, ``2Gi``) as exact numbers.

Only what the downward API needs; amounts are never formatted back.
"""

import math
import re
from fractions import Fraction

from privatellm.errors import InvalidInputError

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)(?P<suffix>[a-zA-Z]*)", re.ASCII
)

_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


def parse(quantity: str) -> Fraction:
    """Return the exact amount, in the quantity's base unit (cores, bytes, pieces).

    Raises:
        InvalidInputError: when the text is no quantity.
    """
    match = _QUANTITY.fullmatch(quantity)
    if match is None or match["suffix"] not in _SUFFIXES:
        raise InvalidInputError(
            f"A quantity is a number and a suffix such as m, Mi or Gi; got {quantity!r}."
        )
    return Fraction(match["number"]) * _SUFFIXES[match["suffix"]]


def in_units(quantity: str, divisor: str) -> str:
    """Return how many whole divisors hold the quantity, as the downward API writes it."""
    unit = parse(divisor)
    return str(math.ceil(parse(quantity) / (unit or 1)))
