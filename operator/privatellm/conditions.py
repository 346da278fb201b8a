"""Conditions: how an object says in one sentence what is wrong and what to do.

Pure functions over tuples of :class:`Condition`. ``lastTransitionTime`` moves only when the status of a
condition changes, so a pass over a settled world computes what is stored already.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from privatellm.api.meta import ApiModel, format_time

LONGEST_MESSAGE = 1024
"""Characters a message may have; what pods and servers report can be far longer."""


class ConditionStatus(StrEnum):
    """The three values that Kubernetes gives a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """One condition, as ``metav1.Condition`` defines it."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: str = ""

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status is ConditionStatus.TRUE


def merged(
    current: Iterable[Condition], wanted: Iterable[Condition], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return ``wanted`` with generation and transition times filled in, sorted by type.

    Args:
        current: The conditions that are stored.
        wanted: The conditions as they should be; types that are not among them are dropped.
        generation: The generation of the object that was looked at.
        now: The time of a transition that is seen now.
    """
    before = {condition.type: condition for condition in current}
    complete = (_stamped(before.get(c.type), c, generation, now) for c in wanted)
    return tuple(sorted(complete, key=lambda condition: condition.type))


def find(conditions: Iterable[Condition], condition_type: str) -> Condition | None:
    """Return the condition of this type, if there is one."""
    return next((c for c in conditions if c.type == condition_type), None)


def bounded(message: str) -> str:
    """Return the message cut to the longest one a condition may carry."""
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


def _stamped(
    before: Condition | None, wanted: Condition, generation: int, now: datetime
) -> Condition:
    same = before is not None and before.status is wanted.status and before.last_transition_time
    return wanted.model_copy(
        update={
            "message": bounded(wanted.message),
            "observed_generation": generation,
            "last_transition_time": before.last_transition_time
            if same and before
            else format_time(now),
        }
    )
