"""How a PublishedResource says what became of it. Pure."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from privatellm.api.meta import format_time
from privatellm.conditions import bounded

ACCEPTED = "Accepted"


class Verdict(StrEnum):
    """The reasons of the condition ``Accepted``."""

    PUBLISHED = "Published"
    INVALID = "Invalid"
    UNSUPPORTED = "Unsupported"
    DEFINITION_MISSING = "DefinitionMissing"
    CONFLICT = "Conflict"


def accepted(
    current: list[dict[str, Any]], verdict: Verdict, message: str, generation: int, now: datetime
) -> list[dict[str, Any]]:
    """Return the conditions of a PublishedResource; a transition's time moves only on a transition.

    Args:
        current: The conditions that are stored.
        verdict: What became of it.
        message: One sentence about what is wrong and what to do.
        generation: The generation that was looked at.
        now: The time of a transition that is seen now.
    """
    status = "True" if verdict is Verdict.PUBLISHED else "False"
    before = next((one for one in current if one.get("type") == ACCEPTED), {})
    same = before.get("status") == status
    wanted = {
        "type": ACCEPTED,
        "status": status,
        "reason": verdict.value,
        "message": bounded(message),
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if same else format_time(now),
    }
    return [*(one for one in current if one.get("type") != ACCEPTED), wanted]
