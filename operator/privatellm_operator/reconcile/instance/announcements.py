"""Which changes of conditions people should hear about: pure."""

from collections.abc import Iterable, Iterator

from privatellm.conditions import Condition
from privatellm_operator.reconcile.events import Announcement
from privatellm_operator.reconcile.instance.reasons import CALM


def announcements(
    before: Iterable[Condition], after: Iterable[Condition]
) -> Iterator[Announcement]:
    """Yield what changed, with the conditions' own reasons and words.

    The first sight of a condition is news only when something is wrong, or every new instance would
    begin with a row of events that say nothing. One cause in two conditions is told once.

    Args:
        before: The conditions that were stored.
        after: The conditions as they are now.
    """
    known = {condition.type: (condition.status, condition.reason) for condition in before}
    told: set[str] = set()
    for condition in after:
        wrong = not condition.is_true and condition.reason not in CALM
        changed = known.get(condition.type) != (condition.status, condition.reason)
        if changed and (wrong or condition.type in known) and condition.reason not in told:
            told.add(condition.reason)
            yield Announcement(condition.reason, condition.message, warning=wrong)
