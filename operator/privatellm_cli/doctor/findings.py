"""What a check says."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    UNKNOWN = "unknown"
    """It cannot be seen with the rights of this user, or from this place."""

    WARNING = "warning"
    """It works, and somebody should know."""

    FAILURE = "failure"
    """It does not work, or is not safe."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one part.

    Attributes:
        check: The part that was looked at.
        level: How bad it is.
        message: What was found.
        remedy: What to do; empty when nothing has to be done.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""


def ok(check: str, message: str) -> Finding:
    """Return that a part is as it should be."""
    return Finding(check, Level.OK, message)


def unknown(check: str, message: str, remedy: str = "") -> Finding:
    """Return that a part cannot be seen."""
    return Finding(check, Level.UNKNOWN, message, remedy)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return that somebody should know about a part."""
    return Finding(check, Level.WARNING, message, remedy)


def failure(check: str, message: str, remedy: str) -> Finding:
    """Return that a part does not work or is not safe."""
    return Finding(check, Level.FAILURE, message, remedy)


def hidden(check: str, what: str) -> Finding:
    """Return that this user may not see a part."""
    return unknown(check, f"You may not read {what}.", "Run this as a platform engineer.")
