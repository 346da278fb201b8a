"""``$(NAME)`` in args and variables, by the rules of Kubernetes.

``$(NAME)`` becomes the value of a variable defined before it, an unknown name stays as it is written,
``$$`` is a literal dollar (so ``$$(NAME)`` gives ``$(NAME)``), and a value is never expanded again.
Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Return the text with every known reference replaced."""

    def replacement(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else values.get(name, match[0])

    return _REFERENCE.sub(replacement, text)


def references(text: str) -> frozenset[str]:
    """Return the names the text refers to; escaped references do not count."""
    return frozenset(m["name"] for m in _REFERENCE.finditer(text) if m["name"] is not None)
