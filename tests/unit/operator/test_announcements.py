"""What people hear about an instance: events, told once for each change."""

import pytest

from privatellm.conditions import Condition, ConditionStatus
from privatellm_operator.reconcile.instance.announcements import announcements
from privatellm_operator.reconcile.instance.reasons import Reason


def _condition(reason: str, *, true: bool = False, kind: str = "Ready") -> Condition:
    value = ConditionStatus.TRUE if true else ConditionStatus.FALSE
    return Condition(type=kind, status=value, reason=reason, message="m")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [_condition(Reason.STARTING)], []),
        ([], [_condition(Reason.STOPPED)], []),
        ([], [_condition(Reason.CRASH_LOOP)], [(Reason.CRASH_LOOP, True)]),
        (
            [_condition(Reason.STARTING)],
            [_condition(Reason.READY, true=True)],
            [(Reason.READY, False)],
        ),
        ([_condition(Reason.READY, true=True)], [_condition(Reason.READY, true=True)], []),
        (
            [],
            [
                _condition("ChecksumMismatch", kind="ModelAvailable"),
                _condition("ChecksumMismatch"),
            ],
            [("ChecksumMismatch", True)],
        ),
    ],
)
def test_people_hear_about_changes_once(
    before: list[Condition], after: list[Condition], told: list[tuple[str, bool]]
) -> None:
    """A new instance on its way is no news; a fault and a recovery are."""
    assert [(a.reason, a.warning) for a in announcements(before, after)] == told
