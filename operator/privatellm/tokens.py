"""The tokens that customers hold: ``pllm_<key id>_<secret><checksum>``.

The key id (60 bits, lower-case base32) is public and may be logged. The secret is 256 bits in base62.
The checksum is a CRC-32 of everything before it, in base62, so that scanners and clients can tell a
typo from a revoked key; it protects nothing. A token is minted from fresh randomness or parsed from
text; nothing else makes one, and neither its ``repr`` nor an error message shows the secret.
"""

import base64
import re
import secrets
import zlib
from dataclasses import dataclass, field

from privatellm.errors import MalformedTokenError

PREFIX = "pllm"
KEY_ID_LENGTH = 12
KEY_ID_PATTERN = r"[a-z2-7]{12}"
SECRET_LENGTH = 43
"""Base62 characters that hold 256 bits."""

CHECKSUM_LENGTH = 6
"""Base62 characters that hold 32 bits."""

TOKEN_LENGTH = len(PREFIX) + 1 + KEY_ID_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH

_SECRET_BITS = 256
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM = re.compile(
    rf"{PREFIX}_({KEY_ID_PATTERN})_([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{6}})"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token; print its ``key_id`` when you must name it."""

    key_id: str
    secret: str = field(repr=False)

    @classmethod
    def mint(cls, key_id: str | None = None) -> "Token":
        """Return a token with a fresh secret.

        Args:
            key_id: A key id that was reserved before; a fresh one when absent.
        """
        return cls(key_id or new_key_id(), _base62(secrets.randbits(_SECRET_BITS), SECRET_LENGTH))

    @classmethod
    def parse(cls, text: str) -> "Token":
        """Return the token that ``text`` is.

        Raises:
            MalformedTokenError: when the form or the checksum is wrong.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise MalformedTokenError(
                f"A token has the form {PREFIX}_<key id>_<secret>; got {len(text)} other characters."
            )
        key_id, secret, checksum = match.groups()
        token = cls(key_id, secret)
        if token.checksum != checksum:
            raise MalformedTokenError(
                f"The checksum of the token with key id {key_id} does not fit: it was mistyped or cut."
            )
        return token

    @property
    def checksum(self) -> str:
        """The CRC-32 over the rest of the token's text, in base62."""
        return _base62(zlib.crc32(self._body().encode()), CHECKSUM_LENGTH)

    def reveal(self) -> str:
        """Return the whole text, for the customer's Secret and for nothing else."""
        return self._body() + self.checksum

    def _body(self) -> str:
        return f"{PREFIX}_{self.key_id}_{self.secret}"


def new_key_id() -> str:
    """Return a fresh key id: 60 random bits in lower-case base32."""
    return base64.b32encode(secrets.token_bytes(8)).decode().lower()[:KEY_ID_LENGTH]


def _base62(number: int, length: int) -> str:
    digits: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
