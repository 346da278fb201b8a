"""Conditions: what moves, what stays, and how long a message may be."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.conditions import (
    LONGEST_MESSAGE,
    Condition,
    ConditionStatus,
    bounded,
    find,
    merged,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def ready(status: ConditionStatus, *, reason: str = "R", message: str = "m") -> Condition:
    """Return a Ready condition as a decision writes it."""
    return Condition(type="Ready", status=status, reason=reason, message=message)


STATUSES = st.sampled_from(ConditionStatus)
WANTED = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from(["Accepted", "Ready", "ModelAvailable"]),
        status=STATUSES,
        reason=st.sampled_from(["A", "B"]),
        message=st.text(max_size=20),
    ),
    unique_by=lambda condition: condition.type,
)


def test_a_condition_that_is_new_gets_the_time_it_was_seen() -> None:
    (stored,) = merged((), [ready(ConditionStatus.TRUE)], generation=3, now=NOW)

    assert stored.last_transition_time == "2026-03-01T12:00:00Z"
    assert stored.observed_generation == 3


@pytest.mark.parametrize("changed", [{"reason": "Other"}, {"message": "other"}, {}], ids=str)
def test_the_time_stays_while_the_status_does(changed: dict[str, str]) -> None:
    before = merged((), [ready(ConditionStatus.FALSE)], generation=1, now=NOW)

    (after,) = merged(before, [ready(ConditionStatus.FALSE, **changed)], generation=2, now=LATER)

    assert after.last_transition_time == "2026-03-01T12:00:00Z"
    assert after.observed_generation == 2


def test_the_time_moves_with_the_status() -> None:
    before = merged((), [ready(ConditionStatus.FALSE)], generation=1, now=NOW)

    (after,) = merged(before, [ready(ConditionStatus.TRUE)], generation=1, now=LATER)

    assert after.last_transition_time == "2026-03-01T12:05:00Z"


def test_a_stored_condition_without_a_time_gets_one() -> None:
    (after,) = merged(
        [ready(ConditionStatus.TRUE)], [ready(ConditionStatus.TRUE)], generation=1, now=NOW
    )

    assert after.last_transition_time == "2026-03-01T12:00:00Z"


@given(WANTED, WANTED)
def test_a_settled_world_computes_what_is_stored(
    before: list[Condition], wanted: list[Condition]
) -> None:
    stored = merged(before, wanted, generation=1, now=NOW)

    assert merged(stored, wanted, generation=1, now=LATER) == stored


@given(WANTED, WANTED)
def test_only_wanted_types_remain_in_a_stable_order(
    before: list[Condition], wanted: list[Condition]
) -> None:
    stored = merged(before, wanted, generation=1, now=NOW)

    assert [c.type for c in stored] == sorted(c.type for c in wanted)
    assert stored == merged(before, reversed(wanted), generation=1, now=NOW)


@given(st.text(max_size=3 * LONGEST_MESSAGE))
def test_a_message_is_cut_to_what_may_be_stored(message: str) -> None:
    assert len(bounded(message)) <= LONGEST_MESSAGE
    assert (bounded(message) == message) is (len(message) <= LONGEST_MESSAGE)


def test_long_messages_are_cut_when_conditions_are_merged() -> None:
    (stored,) = merged(
        (), [ready(ConditionStatus.FALSE, message="x" * 9999)], generation=1, now=NOW
    )

    assert len(stored.message) == LONGEST_MESSAGE
    assert stored.message.endswith("…")


def test_a_condition_is_found_by_its_type() -> None:
    condition = ready(ConditionStatus.TRUE)

    assert find([condition], "Ready") is condition
    assert find([condition], "Accepted") is None


@pytest.mark.parametrize("status", ConditionStatus)
def test_only_true_is_true(status: ConditionStatus) -> None:
    assert ready(status).is_true is (status == "True")


def test_a_condition_is_written_as_kubernetes_reads_it() -> None:
    (stored,) = merged((), [ready(ConditionStatus.UNKNOWN)], generation=1, now=NOW)

    assert stored.to_kubernetes() == {
        "type": "Ready",
        "status": "Unknown",
        "reason": "R",
        "message": "m",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }
