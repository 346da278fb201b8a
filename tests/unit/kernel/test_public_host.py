"""The public host, told apart by one rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.errors import InvalidInputError
from privatellm.public_host import PublicHost


@pytest.mark.parametrize(
    ("text", "name", "port"),
    [
        ("llm.example.com", "llm.example.com", None),
        ("LLM.Example.com:8443", "llm.example.com", 8443),
        ("localhost", "localhost", None),
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("[::1]:8080", "[::1]", 8080),
    ],
)
def test_a_host_is_a_name_or_an_address_with_or_without_a_port(
    text: str, name: str, port: int | None
) -> None:
    """In lower case, as names of hosts are compared."""
    assert PublicHost.parse(text) == PublicHost(name, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "https://x",
        "x/y",
        "x:y",
        "x:99999",
        "u@x",
        "x y",
        "::1",
        "x:",
        "x?y",
        "a`) || `b",
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    """It says what was set."""
    with pytest.raises(InvalidInputError, match="public host"):
        PublicHost.parse(text)


@given(st.text())
def test_no_text_brings_a_character_that_means_something_elsewhere(text: str) -> None:
    """In a URL, in a rule of Traefik, in a header."""
    try:
        host = PublicHost.parse(text)
    except InvalidInputError:
        return
    assert set(host.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-:[]")
