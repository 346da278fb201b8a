"""Tokens: their form, their randomness, and that they do not show themselves."""

import string
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.errors import MalformedTokenError
from privatellm.tokens import (
    KEY_ID_LENGTH,
    SECRET_LENGTH,
    TOKEN_LENGTH,
    Token,
    new_key_id,
)

BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase

TOKENS = st.builds(
    Token,
    st.text(BASE32, min_size=KEY_ID_LENGTH, max_size=KEY_ID_LENGTH),
    st.text(BASE62, min_size=SECRET_LENGTH, max_size=SECRET_LENGTH),
)


@given(TOKENS)
def test_a_token_survives_its_text(token: Token) -> None:
    assert Token.parse(token.reveal()) == token


@given(TOKENS)
def test_a_text_has_the_promised_form_and_length(token: Token) -> None:
    prefix, key_id, rest = token.reveal().split("_")

    assert (prefix, key_id) == ("pllm", token.key_id)
    assert rest == token.secret + token.checksum
    assert len(token.reveal()) == TOKEN_LENGTH


def test_the_checksum_is_the_crc_of_everything_before_it() -> None:
    """As any scanner computes it: ``zlib.crc32`` of the text, written in base62 with six digits."""
    token = Token("abcdefghij23", "0" * SECRET_LENGTH)
    number = zlib.crc32(b"pllm_abcdefghij23_" + b"0" * SECRET_LENGTH)

    value = 0
    for digit in token.checksum:
        value = value * 62 + BASE62.index(digit)

    assert value == number


@given(TOKENS, st.integers(0, TOKEN_LENGTH - 1), st.sampled_from(BASE62))
def test_a_mistyped_character_is_noticed(token: Token, position: int, typed: str) -> None:
    """A CRC-32 finds every error of a single character."""
    text = token.reveal()
    mistyped = text[:position] + typed + text[position + 1 :]

    if mistyped == text:
        return
    with pytest.raises(MalformedTokenError):
        Token.parse(mistyped)


@given(st.text(max_size=100))
def test_other_texts_are_refused_with_our_own_error(text: str) -> None:
    with pytest.raises(MalformedTokenError):
        Token.parse(text)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text + "\n", id="line break"),
        pytest.param(lambda text: " " + text, id="leading space"),
        pytest.param(str.upper, id="upper case"),
        pytest.param(lambda text: text[:-1], id="cut"),
        pytest.param(lambda text: text + "A", id="longer"),
        pytest.param(lambda text: text.replace("pllm_", "sk-"), id="another prefix"),
        pytest.param(lambda text: text.replace("_", "-"), id="dashes"),
    ],
)
def test_a_text_that_only_resembles_a_token_is_refused(change: object) -> None:
    assert callable(change)

    with pytest.raises(MalformedTokenError):
        Token.parse(change(Token.mint().reveal()))


@given(TOKENS)
def test_neither_repr_nor_str_shows_the_secret(token: Token) -> None:
    for shown in (repr(token), str(token), f"{token}", repr([token])):
        assert token.secret not in shown
        assert token.key_id in shown


@given(TOKENS, st.integers(1, SECRET_LENGTH))
def test_an_error_never_repeats_a_part_of_the_secret(token: Token, cut: int) -> None:
    text = token.reveal()
    damaged = (text[:-cut], text[:-1] + ("A" if text[-1] != "A" else "B"))

    for each in damaged:
        with pytest.raises(MalformedTokenError) as raised:
            Token.parse(each)
        assert token.secret[:8] not in str(raised.value)


def test_a_minted_token_keeps_the_key_id_it_was_given() -> None:
    assert Token.mint("abcdefghij23").key_id == "abcdefghij23"


def test_no_two_minted_tokens_share_an_id_or_a_secret() -> None:
    minted = [Token.mint() for _ in range(500)]

    assert len({token.key_id for token in minted}) == 500
    assert len({token.secret for token in minted}) == 500


def test_every_character_of_a_key_id_is_random() -> None:
    """The last character is not a remainder: 60 bits are exactly twelve base32 characters."""
    ids = [new_key_id() for _ in range(1000)]

    for position in range(KEY_ID_LENGTH):
        assert {key_id[position] for key_id in ids} == set(BASE32)


def test_a_secret_carries_256_bits() -> None:
    """The highest digit covers all that 2**256 reaches, so no bit is lost."""
    assert 62 ** (SECRET_LENGTH - 1) < 2**256 <= 62**SECRET_LENGTH
    highest = {Token.mint().secret[0] for _ in range(2000)}
    assert highest == set(BASE62[: 2**256 // 62 ** (SECRET_LENGTH - 1) + 1])
