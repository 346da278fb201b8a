"""Names of Python distributions in the one form in which they can be compared."""

import re


def normalised(name: str) -> str:
    """Return a distribution's name as the package index writes it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
