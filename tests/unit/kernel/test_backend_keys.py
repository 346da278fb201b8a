"""Backend keys: derived the same way by operator and edge, and only by them."""

import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privatellm.backend_keys import SHORTEST_PLATFORM_KEY, PlatformKey
from privatellm.errors import InvalidInputError

TEXT = "0123456789abcdef0123456789abcdef"
PLATFORM_KEYS = st.text(min_size=SHORTEST_PLATFORM_KEY, max_size=60)


def test_a_backend_key_is_an_hmac_over_the_uid() -> None:
    """``printf backend-key/v1/u | openssl dgst -sha256 -hmac TEXT`` prints it."""
    expected = "d27f87957900d51ea80631055bd107d1ac2c4ff6d538a7c02ba5076afca8bb25"

    assert PlatformKey.of(TEXT).backend_key("u") == expected


@given(PLATFORM_KEYS, st.text())
def test_a_backend_key_is_64_hexadecimal_characters(key: str, uid: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", PlatformKey.of(key).backend_key(uid))


@given(PLATFORM_KEYS, st.text(), st.text())
def test_two_instances_have_two_keys(key: str, one: str, other: str) -> None:
    assume(one != other)

    assert PlatformKey.of(key).backend_key(one) != PlatformKey.of(key).backend_key(other)


def test_two_platforms_have_two_keys() -> None:
    assert PlatformKey.of(TEXT).backend_key("u") != PlatformKey.of(TEXT + "x").backend_key("u")


def test_a_platform_key_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "platform-key"
    file.write_text(f"{TEXT}\n")

    assert PlatformKey.read(file) == PlatformKey.of(TEXT)


def test_a_short_key_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInputError, match="32 characters; got 9") as raised:
        PlatformKey.of("change-me")

    assert "change-me" not in str(raised.value)


def test_a_file_with_a_short_key_is_named_without_showing_it(tmp_path: Path) -> None:
    """By its path and by the variable that gives it, because a person can change those."""
    file = tmp_path / "platform-key"
    file.write_text("change-me\n")

    with pytest.raises(InvalidInputError, match=f"{file}.*PRIVATE_LLM_PLATFORM_KEY_FILE") as raised:
        PlatformKey.read(file)

    assert "at least 32 characters; got 9" in str(raised.value)
    assert "change-me" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere.*PRIVATE_LLM_PLATFORM_KEY_FILE"):
        PlatformKey.read(tmp_path / "nowhere")


def test_a_file_that_is_no_text_is_refused_without_showing_it(tmp_path: Path) -> None:
    file = tmp_path / "platform-key"
    file.write_bytes(b"\xff\xfe" * 20)

    with pytest.raises(InvalidInputError, match="text") as raised:
        PlatformKey.read(file)

    assert raised.value.__cause__ is None


def test_a_platform_key_is_not_printed() -> None:
    assert repr(PlatformKey.of(TEXT)) == "PlatformKey()"
