"""What of a target may stand in a log."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.tokens import Token
from privatellm_authserver.paths import loggable_target

SLUG = "abcdefghijklmnop"

SHORTEST_TELLING = 8
"""Characters at an end of a secret that nobody meets by accident."""


@pytest.mark.parametrize(
    ("uri", "slug", "rest"),
    [
        (f"/llm/{SLUG}/v1/models", SLUG, "/v1/models"),
        (f"/llm/{SLUG}/v1/models?x=/llm/y", SLUG, "/v1/models"),
        (f"/llm/{SLUG}", SLUG, ""),
        (f"/llm/{SLUG}/", SLUG, "/"),
        (f"/llm/{SLUG}x/v1/models", "", f"/llm/{SLUG}x/v1/models"),
        (f"/llm/{SLUG}\n/v1/models", "", f"/llm/{SLUG}?/v1/models"),
        (f"/llm/{SLUG.upper()}/v1", "", f"/llm/{SLUG.upper()}/v1"),
        ("/llm/short/v1", "", "/llm/short/v1"),
        ("/llm/", "", "/llm/"),
        ("/llm", "", "/llm"),
        ("//llm/x", "", "//llm/x"),
        ("/LLM/x", "", "/LLM/x"),
        ("?/llm/x", "", ""),
        (f"http://host/llm/{SLUG}/v1", "", f"http?//host/llm/{SLUG}/v1"),
    ],
)
def test_a_target_is_split_without_being_interpreted(uri: str, slug: str, rest: str) -> None:
    """What is not a slug's whole segment below ``/llm/`` is no slug; nothing is decoded."""
    assert loggable_target(uri.encode()) == (slug, rest)


@given(st.binary(max_size=400), st.sampled_from([b"", b"/llm/", f"/llm/{SLUG}".encode()]))
def test_a_logged_path_is_short_and_printable(path: bytes, beginning: bytes) -> None:
    """Control characters, spaces and non-ASCII never reach a log."""
    slug, shown = loggable_target(beginning + path)

    assert re.fullmatch(r"([a-z2-7]{16})?", slug)
    assert len(shown) <= 128
    assert re.fullmatch(r"[A-Za-z0-9/._~?\[\]-]*", shown)


@pytest.mark.parametrize("beginning", ["/v1/", "/llm/", f"/llm/{SLUG}", f"/llm/{SLUG}/", "/", ""])
@given(bare=st.booleans(), end=st.sampled_from(["", "/x", "?x", "%20"]))
def test_a_logged_path_shows_no_part_of_a_token(beginning: str, bare: bool, end: str) -> None:
    """A client that puts its key into the path does not find even a half of it in our log."""
    token = Token.mint()
    text = token.secret if bare else token.reveal()

    shown = "".join(loggable_target(f"{beginning}{text}{end}".encode()))

    halves = (token.secret[:SHORTEST_TELLING], token.secret[-SHORTEST_TELLING:])
    assert not any(half in shown for half in halves)
