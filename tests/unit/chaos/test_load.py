"""What the stream of the fault suite makes of answers: who was refused, and who was let in too late."""

import math

import pytest

from chaos_customers import Key
from chaos_fault import Fault
from chaos_load import Result, Seen, seen

BEGAN, OVER, BOUND = 100.0, 110.0, 60.0
LIVE = Key("live", "", "")
DEAD = Key("dead", "", "").ended()
ENDED = Key("ended", "", "").ended(101.0)


def asked(key: Key, at: float, verdict: str = "200") -> Result:
    """Return a request that took half a second."""
    return Result(key, at, at + 0.5, verdict)


def told(*results: Result, ordered: float = math.inf, consistent: float = math.inf) -> Seen:
    """Return what a fault made of these requests."""
    fault = Fault(None, None, BEGAN, OVER, BOUND, ordered, consistent)  # type: ignore[arg-type]
    return seen(results, BEGAN, OVER, fault.deadline)


def test_a_live_key_that_is_not_answered_was_refused() -> None:
    """Whatever the reason; the last refusal says for how long it was dark after the fault."""
    found = told(asked(LIVE, 101, "503"), asked(LIVE, 112, "ConnectError"), asked(LIVE, 113))

    assert (found.requests, found.refused) == (3, {"503": 1, "ConnectError": 1})
    assert found.dark_seconds == 2.5


def test_what_was_answered_before_the_fault_does_not_count() -> None:
    """The calm before it is not its merit."""
    assert told(asked(LIVE, 99), asked(DEAD, 99)).requests == 0


def test_a_key_that_has_long_been_dead_is_never_let_in() -> None:
    """Not even within the bound, which is for keys that end meanwhile."""
    assert told(asked(DEAD, 101)).wrong_allows == {"dead": 1}
    assert told(asked(DEAD, 101, "401")).wrong_allows == {}


@pytest.mark.parametrize(("at", "is_wrong"), [(101.0, False), (161.0, False), (161.1, True)])
def test_a_key_that_ends_may_be_let_in_within_the_bound(at: float, is_wrong: bool) -> None:
    """It counts when the request was sent, because the decision came after that."""
    found = told(asked(ENDED, at))

    assert bool(found.wrong_allows) is is_wrong
    assert found.outlived == pytest.approx(at - 101.0)
    assert found.ended == 1


def test_a_key_that_ends_is_not_let_in_any_more_when_a_later_one_is() -> None:
    """What is watched arrives in its order, so nobody has an excuse from then on."""
    assert told(asked(ENDED, 112), ordered=111, consistent=113).wrong_allows == {}
    assert told(asked(ENDED, 114), ordered=111, consistent=113).wrong_allows == {"ended": 1}


def test_a_key_that_ends_after_the_later_one_was_ordered_has_the_bound() -> None:
    """Its end is later still."""
    young = ENDED.ended(112.0)

    assert told(asked(young, 114), ordered=111, consistent=113).wrong_allows == {}


def test_a_key_that_is_let_in_before_its_end_does_not_outlive_it() -> None:
    """The request that is under way at that moment was decided before, for all that one knows."""
    assert told(asked(ENDED, 100.8)).outlived == 0.0
