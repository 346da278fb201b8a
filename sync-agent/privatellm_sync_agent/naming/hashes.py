"""The hashes and the regular expressions that names, labels and templates are made with.

SHA-1 and SHA3-256 are upstream's choice and part of what an existing deployment has stored; none of them
protects a secret.
"""

import hashlib
import re


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


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression in Go's syntax, ready to be used.

    Raises:
        ValueError: when it cannot be read.
    """
    try:
        return re.compile(pattern.replace(r"\z", r"\Z"))
    except re.error as error:
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
