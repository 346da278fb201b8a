"""What the parser of the command line says about a wrong value, in the words of a person. Pure.

The parser validates values with pydantic, whose sentences are about *input* and *strings*. What it says
about anything else is passed on.
"""

import re
from collections.abc import Callable

_Words = Callable[[re.Match[str]], str]

_RULES: tuple[tuple[re.Pattern[str], _Words], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Input should be a valid integer.*", lambda _: "it must be a whole number"),
        (r"Input should be a valid number.*", lambda _: "it must be a number"),
        (r"Input should be greater than or equal to (\S+)", lambda m: f"it must be {m[1]} or more"),
        (r"Input should be less than or equal to (\S+)", lambda m: f"it must be {m[1]} or less"),
        (r"Input should be ", lambda _: "it must be "),
        (r"Value error, ", lambda _: ""),
        (
            r"No such option: --state\b.*",
            lambda _: (
                "No such option: --state. This command finds an embedded environment as any other cluster: "
                "give --kubeconfig DIR/kubeconfigs/admin.kubeconfig"
            ),
        ),
    )
)


def plain(message: str) -> str:
    """Return a complaint about a value as a person would make it, with a full stop."""
    for pattern, words in _RULES:
        message = pattern.sub(words, message, count=1)
    text = message.rstrip()
    return text if text.endswith((".", "?", "!", ")")) else f"{text}."
