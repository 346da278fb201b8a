"""Splitting a target, and what of it may stand in a log."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.tokens import Token
from privatellm_authserver.paths import loggable, split_target

SLUG = "abcdefghijklmnop"


@pytest.mark.parametrize(
    ("uri", "slug", "rest"),
    [
        (f"/llm/{SLUG}/v1/models", SLUG, "/v1/models"),
        (f"/llm/{SLUG}/v1/models?x=/llm/y", SLUG, "/v1/models"),
        (f"/llm/{SLUG}x/v1/models", SLUG, "x/v1/models"),
        (f"/llm/{SLUG}", SLUG, ""),
        ("/llm/short/v1", "short/v1", ""),
        ("/llm/", "", ""),
        ("/llm", "", "/llm"),
        ("//llm/x", "", "//llm/x"),
        ("/LLM/x", "", "/LLM/x"),
        ("?/llm/x", "", ""),
        (f"http://host/llm/{SLUG}/v1", "", f"http://host/llm/{SLUG}/v1"),
    ],
)
def test_a_target_is_split_without_being_interpreted(uri: str, slug: str, rest: str) -> None:
    """What is not below ``/llm/`` has no slug; nothing is decoded."""
    assert split_target(uri.encode()) == (slug.encode(), rest.encode())


@given(st.binary(max_size=400))
def test_a_logged_path_is_short_and_printable(path: bytes) -> None:
    """Control characters, spaces and non-ASCII never reach a log."""
    shown = loggable(path)

    assert len(shown) <= 128
    assert re.fullmatch(r"[A-Za-z0-9/._~?\[\]-]*", shown)


@given(st.booleans())
def test_a_logged_path_shows_no_token(bare: bool) -> None:
    """A client that puts its key into the path does not find it in our log."""
    token = Token.mint()
    text = token.secret if bare else token.reveal()

    assert token.secret not in loggable(f"/v1/{text}/x".encode())
