"""What keeps an object or one of its related objects away, as a condition on the customer's object.

An event is gone after an hour; the condition stays for as long as somebody else's object is in the way, and
goes with it. It is the only thing that the agent adds to a status: everything else there is the provider's.
A kind whose status has no place for conditions, as ``metav1.Condition`` defines them, gets the event alone.
Pure; :mod:`privatellm_sync_agent.engine.reporting` writes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from privatellm.api.meta import format_time
from privatellm.conditions import bounded
from privatellm_sync_agent.engine.events import Reason

SYNCED = "syncagent.kcp.io/Synced"
"""Its type; qualified, because a provider's own conditions may well have one that is called Synced."""

_FIELDS = frozenset(
    {"type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"}
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Somebody else's object that is in the way of one of ours, in words for the customer."""

    reason: Reason
    message: str


def takes_conditions(version: Mapping[str, Any]) -> bool:
    """Return whether a version of a CustomResourceDefinition stores conditions in its status.

    Args:
        version: An item of ``spec.versions``.
    """
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    status = (schema.get("properties") or {}).get("status") or {}
    if "status" not in (version.get("subresources") or {}):
        return False
    known = status.get("properties") or {}
    if "conditions" not in known:
        return bool(status.get("x-kubernetes-preserve-unknown-fields"))
    item = known["conditions"].get("items") or {}
    stored, required = set(item.get("properties") or ()), set(item.get("required") or ())
    return required <= _FIELDS <= stored


def with_obstacles(
    status: Mapping[str, Any], obstacles: Iterable[Obstacle], generation: int, now: datetime
) -> dict[str, Any] | None:
    """Return a status with the condition that tells of the obstacles, and without it when there are none.

    Args:
        status: The status as it is stored.
        obstacles: What is in the way now, in the order in which it was met.
        generation: The generation of the object that was looked at.
        now: The time of a transition that is seen now.

    Returns:
        ``None`` when there is nothing to tell and nothing was told.
    """
    met = tuple(obstacles)
    before = _told(status)
    if not met:
        return kept(status, {}) if before else None
    condition = {
        "type": SYNCED,
        "status": "False",
        "reason": met[0].reason.value,
        "message": bounded(" ".join(obstacle.message for obstacle in met)),
        "observedGeneration": generation,
        "lastTransitionTime": before.get("lastTransitionTime") or format_time(now),
    }
    return kept(status, {"conditions": [condition]})


def kept(status: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status with the agent's own condition as it stands in another one, or without it.

    Args:
        status: The provider's status, or one with the agent's condition.
        told: The status whose word about obstacles counts.
    """
    ours = _told(told)
    others = [one for one in status.get("conditions") or () if one.get("type") != SYNCED]
    if not ours and "conditions" not in status:
        return dict(status)
    return {**status, "conditions": [*others, ours] if ours else others}


def _told(status: Mapping[str, Any]) -> dict[str, Any]:
    conditions = status.get("conditions") or ()
    return next((dict(one) for one in conditions if one.get("type") == SYNCED), {})
