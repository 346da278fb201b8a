"""What stored Secrets say, and what is not believed."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.tokens import Token
from privatellm_operator.reconcile.token.facts import ForeignSecret, OwnSecret
from privatellm_operator.reconcile.token.reading import (
    held_key_id,
    secret_facts,
    token_in,
    verifiers_among,
)
from token_worlds import a_request, a_secret, a_verifier, encoded

TOKEN = Token.mint()
VERIFIER = a_verifier(TOKEN)


def test_a_key_counts_when_its_verifier_confirms_it() -> None:
    secret = a_secret(a_request(), TOKEN)

    assert held_key_id(secret, [a_verifier(Token.mint()), VERIFIER]) == TOKEN.key_id


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(Token(TOKEN.key_id, "A" * 43).reveal(), id="right id, other secret"),
        pytest.param(Token.mint().reveal(), id="another key"),
        pytest.param(TOKEN.reveal() + "\n", id="a line break more"),
        pytest.param(TOKEN.reveal()[:-1], id="cut"),
        pytest.param("", id="empty"),
    ],
)
def test_anything_else_does_not_count(text: str) -> None:
    secret = a_secret(a_request(), None)
    secret["data"]["OPENAI_API_KEY"] = encoded(text)

    assert held_key_id(secret, [VERIFIER]) is None


@given(st.binary(max_size=90))
def test_any_bytes_in_the_place_of_a_key_are_read_without_harm(content: bytes) -> None:
    secret = {"data": {"OPENAI_API_KEY": b64encode(content).decode()}}

    assert token_in(secret) is None


@pytest.mark.parametrize("secret", [{}, {"data": None}, {"data": {}}])
def test_a_secret_without_data_holds_no_key(secret: dict[str, Any]) -> None:
    assert token_in(secret) is None


FOREIGN: dict[str, dict[str, Any]] = {
    "no owner": {"metadata": {}},
    "another owner": {"metadata": {"ownerReferences": [{"uid": "other"}]}},
    "immutable": {"immutable": True},
    "another type": {"type": "kubernetes.io/tls"},
}


@pytest.mark.parametrize("fields", FOREIGN.values(), ids=FOREIGN)
def test_a_secret_that_we_may_not_write_is_foreign(fields: dict[str, Any]) -> None:
    secret = a_secret(a_request(), TOKEN) | fields

    assert isinstance(secret_facts(secret, a_request(), [VERIFIER]), ForeignSecret)


def test_the_facts_about_our_secret_never_print_it() -> None:
    facts = secret_facts(a_secret(a_request(), TOKEN), a_request(), [VERIFIER])

    assert isinstance(facts, OwnSecret)
    assert repr(facts) == f"OwnSecret(held_key_id='{TOKEN.key_id}')"


def test_what_the_edge_cannot_read_is_named_and_set_apart() -> None:
    good = VERIFIER.to_secret("tokens")
    bad = a_verifier(Token.mint()).to_secret("tokens")
    bad["type"] = "Opaque"

    assert verifiers_among([good, bad]) == ((VERIFIER,), (bad["metadata"]["name"],))
