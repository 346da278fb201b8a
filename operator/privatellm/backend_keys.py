"""The key that the edge shows a model server in place of the tenant's token.

It is an HMAC of the platform's key over the instance's UID (RFC 2104), so that operator and edge agree
on it without talking to each other and nobody can compute it from what a tenant sees.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path

from privatellm.errors import InvalidInputError

SHORTEST_PLATFORM_KEY = 32
"""Characters of the platform key's text; shorter ones are typing mistakes or placeholders."""

FILE_VARIABLE = "PRIVATE_LLM_PLATFORM_KEY_FILE"
"""The variable that names the key's file, to every program that reads it."""


@dataclass(frozen=True, slots=True)
class PlatformKey:
    """The secret that all backend keys of one platform derive from; never printed."""

    _text: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> "PlatformKey":
        """Read the key from a mounted Secret.

        Raises:
            InvalidInputError: when the file is missing or its content too short to be a key.
        """
        try:
            text = path.read_text().strip()
        except OSError as error:
            raise InvalidInputError(
                f"The platform key must be a readable file; {path}: {error.strerror}. "
                f"Mount the Secret there, or correct {FILE_VARIABLE}."
            ) from error
        except UnicodeDecodeError:
            # The error would repeat the key's bytes, so it is not kept as the cause.
            raise InvalidInputError(
                f"The platform key must be text; {path} ({FILE_VARIABLE}) is not."
            ) from None
        try:
            return cls.of(text)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{path} ({FILE_VARIABLE}) holds no platform key. {error}"
            ) from error

    @classmethod
    def of(cls, text: str) -> "PlatformKey":
        """Return the key with this text.

        Raises:
            InvalidInputError: when the text is too short.
        """
        if len(text) < SHORTEST_PLATFORM_KEY:
            raise InvalidInputError(
                f"A platform key has at least {SHORTEST_PLATFORM_KEY} characters; got {len(text)}."
            )
        return cls(text)

    def backend_key(self, instance_uid: str) -> str:
        """Return the backend key of an instance, as 64 hexadecimal characters."""
        message = f"backend-key/v1/{instance_uid}".encode()
        return hmac.digest(self._text.encode(), message, hashlib.sha256).hex()
