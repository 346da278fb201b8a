"""What the state of an instance means for somebody who waits for it. Pure.

A status speaks of the generation that it observed: one of an older generation is no news about what was
just asked for. Some causes are final, because only an edit can help; others may heal by themselves (a node
is added, a hub comes back), so the one who waits decides how long to believe in that.
"""

from dataclasses import dataclass

from privatellm import conditions
from privatellm.api.llm_instance import InstanceCondition, InstancePhase, LLMInstance
from privatellm_cli.columns import why_not_ready

ROLLING = "Rolling"
"""Reason of ``Ready`` while old servers answer and new ones are on their way."""

SOURCE_FAILING = "SourceFailing"
"""Reason while the platform's own fetch tries a source again, which it forgives for minutes."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The instance is as it was asked for: it answers, or it is stopped on purpose."""


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """Nothing is known to be wrong."""

    message: str


@dataclass(frozen=True, slots=True)
class Troubled:
    """Something fails that is tried again, and each success makes good what failed before."""

    message: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """Something is wrong; ``final`` when only an edit can help."""

    message: str
    final: bool = False


Verdict = Reached | OnTheWay | Troubled | Stuck


def judge(instance: LLMInstance) -> Verdict:  # noqa: PLR0911 - a ladder of verdicts
    """Return what an instance's state means."""
    if instance.metadata.is_deleting:
        return Stuck("The instance is being deleted.", final=True)
    status = instance.status
    if (status.observed_generation or 0) < instance.metadata.generation:
        return OnTheWay("The operator has not looked at it yet.")
    accepted = conditions.find(status.conditions, InstanceCondition.ACCEPTED)
    if accepted is not None and not accepted.is_true:
        return Stuck(accepted.message, final=True)
    match status.phase:
        case InstancePhase.STOPPED:
            return Reached()
        case InstancePhase.READY:
            return _ready(instance)
        case InstancePhase.FAILED | InstancePhase.DEGRADED:
            return Stuck(_words(instance))
        case _:
            return _unfinished(instance)


def _unfinished(instance: LLMInstance) -> Verdict:
    condition = why_not_ready(instance)
    is_failing = condition is not None and condition.reason == SOURCE_FAILING
    return Troubled(_words(instance)) if is_failing else OnTheWay(_words(instance))


def _ready(instance: LLMInstance) -> Verdict:
    ready = conditions.find(instance.status.conditions, InstanceCondition.READY)
    if ready is not None and ready.reason == ROLLING:
        return OnTheWay(ready.message)
    return Reached()


def _words(instance: LLMInstance) -> str:
    condition = why_not_ready(instance)
    return (condition.message or condition.reason) if condition else "Nothing was applied yet."
