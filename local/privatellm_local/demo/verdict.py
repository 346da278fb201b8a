"""What the state of an ordered object means for the order; pure.

A status speaks of the generation that it observed: one of an older generation is no news about what
was just applied. The sentence for a person is the message of the first condition that does not hold, in
the order in which things happen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.api.llm_instance import InstanceCondition, InstancePhase, LLMInstance
from privatellm.conditions import Condition, find

Kind = TypeVar("Kind", LLMInstance, APITokenRequest)
"""A kind of object that the demo orders."""

_ORDER = tuple(InstanceCondition)


@dataclass(frozen=True, slots=True)
class Fulfilled(Generic[Kind]):
    """The object is ready."""

    object: Kind


@dataclass(frozen=True, slots=True)
class Pending:
    """The object is on its way."""

    message: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The object will not become ready by itself."""

    message: str


def judge(kind: type[Kind], state: dict[str, Any] | None) -> Fulfilled[Kind] | Pending | Broken:
    """Judge an object as it was seen; ``None`` stands for an absent one."""
    if state is None:
        return Pending(f"{kind.KIND.name}: not there yet")
    seen = kind.parse(state)
    title = f"{kind.KIND.name} {seen.metadata.name}"
    if (seen.status.observed_generation or 0) < seen.metadata.generation:
        return Pending(f"{title}: the operator has not looked at it yet")
    match seen.status.phase:
        case InstancePhase.READY | TokenPhase.READY:
            return Fulfilled(seen)
        case (
            InstancePhase.FAILED
            | InstancePhase.STOPPED
            | InstancePhase.TERMINATING
            | TokenPhase.FAILED
            | TokenPhase.EXPIRED
            | TokenPhase.REVOKED
        ) as phase:
            return Broken(f"{title} is {phase}: {reason(seen.status.conditions)}")
        case phase:
            return Pending(f"{title} is {phase or 'new'}: {reason(seen.status.conditions)}")


def reason(conditions: Iterable[Condition]) -> str:
    """Return in words why an object is not ready, without a full stop."""
    known = tuple(conditions)
    for kind in _ORDER:
        condition = find(known, kind)
        if condition is not None and not condition.is_true:
            return (condition.message or condition.reason).rstrip(".")
    return "its conditions give no reason; see the operator's log"
