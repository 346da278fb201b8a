"""When a request's keys end and when they are replaced."""

from datetime import timedelta
from typing import Any

import pytest

from privatellm.errors import InvalidInputError
from privatellm_operator.reconcile.token.facts import TokenPolicy
from privatellm_operator.reconcile.token.terms import terms_of
from privatellm_operator.settings import PublicSettings, Settings, TokenSettings
from token_worlds import CREATED, POLICY, a_request

LIVES = {
    "neither": (None, None, None),
    "asked": ("2h", None, timedelta(hours=2)),
    "platform": (None, "3h", timedelta(hours=3)),
    "asked for less": ("2h", "3h", timedelta(hours=2)),
    "asked for more": ("9h", "3h", timedelta(hours=3)),
}


@pytest.mark.parametrize(("asked", "longest", "life"), LIVES.values(), ids=LIVES)
def test_a_request_lives_as_long_as_it_asked_and_the_platform_allows(
    asked: str | None, longest: str | None, life: timedelta | None
) -> None:
    spec: dict[str, Any] = {"expiresAfter": asked} if asked else {}
    request = a_request(**spec)
    policy = TokenPolicy.of(Settings(tokens=TokenSettings(longest_token_life=longest)))

    assert terms_of(request, policy).ends_at == (None if life is None else CREATED + life)


def test_a_request_ends_on_a_whole_second() -> None:
    ends_at = terms_of(a_request(expiresAfter="90.75s"), POLICY).ends_at

    assert ends_at == CREATED + timedelta(seconds=90)


def test_without_rotation_nothing_overlaps() -> None:
    terms = terms_of(a_request(), POLICY)

    assert (terms.every, terms.overlap) == (None, timedelta(0))


def test_rotation_is_read_with_its_overlap() -> None:
    terms = terms_of(a_request(rotation={"every": "24h", "overlap": "90m"}), POLICY)

    assert (terms.every, terms.overlap) == (timedelta(days=1), timedelta(minutes=90))


def test_the_longest_life_must_be_a_duration() -> None:
    settings = Settings(tokens=TokenSettings(longest_token_life="90 days"))

    with pytest.raises(InvalidInputError, match="720h"):
        TokenPolicy.of(settings)


def test_an_endpoint_follows_from_the_public_host_and_the_instances_uid() -> None:
    policy = TokenPolicy.of(Settings(public=PublicSettings(host="h:8443", scheme="http")))

    assert policy.endpoint("u").startswith("http://h:8443/llm/")
