"""When a key was last used: what is believed, what is written, and what is not."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.api.api_token_request import APITokenRequestStatus
from privatellm.api.meta import format_time, parse_time
from privatellm.tokens import Token
from privatellm_operator.reconcile.token.decide import decide
from privatellm_operator.reconcile.token.plan import WriteStatus
from privatellm_operator.world.usage import REMEMBERED, KeyUsage
from token_worlds import CREATED, NOW, POLICY, a_request, a_settled_world, a_verifier, acted_on

MINUTE = timedelta(minutes=1)
anytime = st.timedeltas(timedelta(days=-9999), timedelta(days=9999)).map(lambda t: NOW + t)


def status_after(used: datetime | None, stored: str | None = None) -> APITokenRequestStatus | None:
    """Return the status that a pass over a settled world writes; ``None`` for none."""
    world = a_settled_world()
    world = acted_on(world, decide(world, POLICY))
    status = world.request.status.model_copy(update={"last_used_at": stored})
    request = world.request.model_copy(update={"status": status})
    plan = decide(replace(world, request=request, last_used=used), POLICY)
    written = [step.status for step in plan.steps if isinstance(step, WriteStatus)]
    return written[0] if written else None


def test_a_use_is_written_once() -> None:
    """And without an event: it is no news about the key."""
    world = a_settled_world()
    world = replace(acted_on(world, decide(world, POLICY)), last_used=NOW - MINUTE)

    plan = decide(world, POLICY)

    (step,) = plan.steps
    assert isinstance(step, WriteStatus)
    assert step.status.last_used_at == format_time(NOW - MINUTE)
    assert step.announcement is None
    assert decide(acted_on(world, plan), POLICY).steps == ()


@pytest.mark.parametrize("used", [None, NOW - 2 * MINUTE])
def test_what_is_known_already_is_not_written(used: datetime | None) -> None:
    """A key that nobody uses causes no write, and time never goes back."""
    assert status_after(used, stored=format_time(NOW - MINUTE)) is None


def test_a_stored_time_from_the_future_is_taken_back() -> None:
    """It would hide every later use."""
    written = status_after(NOW - MINUTE, stored="2099-01-01T00:00:00Z")

    assert written is not None
    assert written.last_used_at == format_time(NOW - MINUTE)


@given(anytime)
def test_a_use_lies_within_the_life_of_its_key(reported: datetime) -> None:
    """Whatever the edge says."""
    token, usage = Token.mint(), KeyUsage()
    # Taken in at its own time, so that it is not forgotten at once.
    usage.merge({token.key_id: reported}, reported)

    used = usage.of([a_verifier(token, issued=CREATED)], NOW)

    assert used is not None
    assert CREATED <= used <= NOW


def test_keys_of_others_are_not_looked_at() -> None:
    """A request's use is that of its own live keys, the later one of two that overlap."""
    old, new, foreign = (Token.mint() for _ in range(3))
    usage = KeyUsage()
    reports = {old.key_id: NOW - MINUTE, new.key_id: NOW - 2 * MINUTE, foreign.key_id: NOW}
    usage.merge(reports, NOW)

    assert usage.of([a_verifier(old), a_verifier(new)], NOW) == NOW - MINUTE
    assert usage.of([], NOW) is None


def test_only_later_uses_are_news() -> None:
    """Several replicas report the same key, and each offers a use more than once."""
    usage = KeyUsage()

    assert usage.merge({"a": NOW, "b": NOW}, NOW) == ("a", "b")
    assert usage.merge({"a": NOW, "b": NOW - MINUTE}, NOW) == ()
    assert usage.merge({"a": NOW + MINUTE}, NOW + MINUTE) == ("a",)


def test_old_uses_are_forgotten() -> None:
    """The memory is bounded by an hour of keys."""
    usage = KeyUsage()
    usage.merge({"a": NOW}, NOW)

    assert usage.merge({"b": NOW}, NOW + REMEMBERED) == ()
    assert usage._used == {}


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-03-01", "2026-03-01T12:00:00"])
def test_a_text_without_an_aware_time_says_none(text: str | None) -> None:
    """Nobody but the operator writes it, and a pass must not fail where somebody did."""
    assert parse_time(text) is None
    assert a_request(status={"lastUsedAt": text} if text else None)
