import pytest

from privatellm_cli import advice
from privatellm_operator.fetcher.errors import FetchReason
from privatellm_operator.reconcile.instance.reasons import Reason

GOOD = {Reason.ACCEPTED, Reason.FETCHED, Reason.PROGRAMMED, Reason.READY}
"""Reasons of conditions that hold."""


def test_every_reason_of_the_operator_has_a_next_step_and_no_other_has() -> None:
    """A reason that is new, renamed or gone is noticed here."""
    told = {str(reason) for reason in (*Reason, *FetchReason)} - {str(reason) for reason in GOOD}

    assert set(advice.ADVICE) == told


def test_a_next_step_can_be_pasted() -> None:
    """It names the instance as commands take it."""
    assert advice.next_step("Stopped", "acme/chat") == (
        "Start it: privatellm scale acme/chat --replicas 1"
    )


@pytest.mark.parametrize("reason", ["ChecksumMismatch", "SizeMismatch"])
def test_a_broken_promise_is_compared_with_the_source(reason: str) -> None:
    """The platform does not lack anything: what it declares is not what the hub has."""
    step = advice.next_step(reason, "acme/chat")

    assert "sha256" in step
    assert "privatellm catalog pin --from-cluster" in step


def test_a_reason_of_a_newer_operator_is_no_dead_end() -> None:
    """The operator may be newer than the command line."""
    assert "platform team" in advice.next_step("NeverHeardOf", "acme/chat")
