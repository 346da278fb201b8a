"""The scan at the end of an integration run finds what it looks for."""

import base64

import pytest

from leaks import keys_between_parts, leaks_in, secrets_among
from privatellm.backend_keys import PlatformKey
from privatellm.tokens import Token
from privatellm.verifiers import hash_profile

PLATFORM = "Zm9v-YmFy_" + "k" * 33
UID = "8c5b7f0e-0c0f-4c49-8e67-0f5d3a1b2c3d"
STORED = b"\x0a\x0cplatform-key\x12\x2b" + PLATFORM.encode() + b"\x1a\x06 uid \x24" + UID.encode()
"""A Secret and a UID, as the store holds them."""


def test_tokens_are_read_out_of_any_bytes() -> None:
    """The store's files are binary."""
    one, two = Token.mint(), Token.mint()
    content = b"\x00\x12" + one.reveal().encode() + b"\xff" + two.reveal().encode() + b"\n"

    assert secrets_among([content]) == {one.secret.encode(), two.secret.encode()}


@pytest.mark.parametrize(
    "form",
    [
        "token",
        "secret",
        "inside",
        "hash",
        "encoded hash",
        "backend key",
        "bare key",
        "platform key",
    ],
)
def test_each_form_of_a_secret_is_found(form: str) -> None:
    """The whole token, its secret alone or in a longer word, a hash as it is and in base64."""
    token = Token.mint()
    text = {
        "token": token.reveal(),
        "secret": token.secret,
        "inside": f"x{token.secret}y",
        "hash": hash_profile().hash(token.secret),
        "encoded hash": base64.b64encode(hash_profile().hash(token.secret).encode()).decode(),
        "backend key": f"Authorization: Bearer {'0f' * 32}",
        "bare key": f"x{PlatformKey.of(PLATFORM).backend_key(UID)}",
        "platform key": PLATFORM,
    }[form]
    known = keys_between_parts([STORED]) | {token.secret.encode()}

    found = leaks_in([("the log", f'{{"event": "{text}"}}'.encode())], known)

    assert found
    assert all(line.startswith("the log holds ") for line in found)
    assert token.secret not in "".join(found)
    assert PLATFORM not in "".join(found)


def test_what_may_be_written_is_no_leak() -> None:
    """Key ids, slugs and digests of files."""
    token = Token.mint()
    text = f"key {token.key_id}, sha256 {'0f' * 32}, v-{token.key_id}".encode()

    assert leaks_in([("the log", text)], frozenset({token.secret.encode()})) == []
