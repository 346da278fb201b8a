"""A namespace's number of token requests is bounded, and the bound never ends a key that lives."""

from dataclasses import replace

import pytest

from privatellm.api.api_token_request import TokenPhase
from privatellm.tokens import Token
from privatellm.verifiers import Verifier
from privatellm_operator.reconcile.token.facts import TokenPolicy, TokenWorld
from privatellm_operator.reconcile.token.judgement import Grant, Objection, judge
from privatellm_operator.reconcile.token.reasons import Reason, phase_of
from privatellm_operator.settings import CapSettings, Settings
from token_worlds import POLICY, a_verifier, a_world

BOUNDED = replace(POLICY, most_requests=2)


def _crowded(older: int, *living: Verifier) -> TokenWorld:
    return replace(a_world(verifiers=living), older_siblings=older)


@pytest.mark.parametrize("older", [0, 1])
def test_the_older_requests_have_their_keys(older: int) -> None:
    assert isinstance(judge(_crowded(older), BOUNDED), Grant)


def test_one_request_too_many_is_told_what_to_do() -> None:
    """The sentence has the rule, the number found, and the ways out."""
    objection = judge(_crowded(2), BOUNDED)

    assert isinstance(objection, Objection)
    assert objection.reason is Reason.QUOTA_EXCEEDED
    assert phase_of(objection.reason) is TokenPhase.FAILED
    assert "up to 2 APITokenRequests" in objection.message
    assert "2 older ones" in objection.message
    assert objection.retry_after is not None


def test_a_lowered_bound_leaves_keys_that_live_alone() -> None:
    """Applications go on; only new keys are refused."""
    living = a_verifier(Token.mint())

    assert isinstance(judge(_crowded(5, living), BOUNDED), Grant)


def test_without_a_bound_any_number_is_served() -> None:
    assert isinstance(judge(_crowded(10_000), POLICY), Grant)


def test_the_bound_comes_from_the_platforms_settings() -> None:
    chosen = Settings(caps=CapSettings(max_token_requests=3))
    assert TokenPolicy.of(chosen).most_requests == 3
