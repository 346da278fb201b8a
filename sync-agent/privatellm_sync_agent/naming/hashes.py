"""The hashes and the regular expressions that names, labels and templates are made with.

SHA-1 and SHA3-256 are upstream's choice and part of what an existing deployment has stored; none of them
protects a secret.
"""

import hashlib
import re
import warnings


def sha1(text: str) -> str:
    """Return the SHA-1 of a text in hex: 40 characters, a legal label value."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def sha3(text: str) -> str:
    """Return the SHA3-256 of a text in hex: 64 characters."""
    return hashlib.sha3_256(text.encode()).hexdigest()


def go_replace(pattern: str, replacement: str, text: str) -> str:
    r"""Replace every match as Go's ``ReplaceAllString`` does; ``\1`` works as well as ``$1``.

    Raises:
        ValueError: when the pattern cannot be compiled or the replacement names no group of it.
    """
    try:
        return compiled(pattern).sub(lambda match: _expanded(match, replacement), text)
    except IndexError as error:
        raise ValueError(f"the expression {pattern!r} cannot be used: {error}") from error


_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
"""Classes that Go knows by name within brackets, and Python does not."""


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression in Go's syntax, ready to be used; its classes are ASCII, as in Go.

    Raises:
        ValueError: when it cannot be read.
    """
    translated = re.sub(
        r"\[:(\w+):\]", lambda match: _POSIX.get(match[1], match[0]), pattern.replace(r"\z", r"\Z")
    )
    try:
        with warnings.catch_warnings():
            # A set that Python reads in two ways is none that we can promise to read as Go does.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(translated, re.ASCII)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"the expression {pattern!r} cannot be used: {error}") from error


_REFERENCE = re.compile(r"\$\$|\$\{(\w+)\}|\$(\w+)|\\(\d+)")


def _expanded(match: re.Match[str], replacement: str) -> str:
    def group(reference: re.Match[str]) -> str:
        if reference[0] == "$$":
            return "$"
        name = reference[1] or reference[2] or reference[3]
        try:
            return match[int(name) if name.isdigit() else name] or ""
        except IndexError:
            return ""  # Go expands a group that does not exist to nothing.

    return _REFERENCE.sub(group, replacement)
