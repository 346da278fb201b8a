"""Kubernetes quantities as numbers: ``500m``, ``1.5``, ``4Gi``, ``1e3``."""

import re
from decimal import Decimal, InvalidOperation

from privatellm.errors import InvalidInputError

_FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_FORM = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?i?)")


def parse_quantity(quantity: str | float) -> Decimal:
    """Return the number that a quantity stands for.

    Raises:
        InvalidInputError: when it is no quantity.
    """
    match = _FORM.fullmatch(str(quantity))
    try:
        number, unit = match.groups() if match else ("", "")
        return Decimal(number) * _FACTORS[unit]
    except (InvalidOperation, KeyError) as error:
        raise InvalidInputError(
            f"A quantity is a number with a unit such as m, Mi or Gi; got {quantity!r}."
        ) from error
