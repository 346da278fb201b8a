"""Why a fetch failed, as the operator and people read it.

::

    PrivateLLMError
    └── FetchError                       reason and sentence, the last line of the log
        ├── ChecksumMismatchError        the bytes are not the declared ones
        ├── SizeMismatchError            the length is not the declared one
        ├── ModelNotFoundError           the source has no such file
        ├── AccessDeniedError            the source wants other credentials
        ├── SourceUnreachableError       the source does not answer
        │   └── SourceDisturbedError     the same, but waiting can heal it
        ├── SourceRefusedError           the platform's rules do not allow the source
        ├── InsufficientStorageError     the file does not fit
        ├── StorageFailedError           the directory cannot be used
        └── InvalidSourceError           the source makes no sense

The operator copies reason and message into the instance's ``ModelAvailable`` condition, so each
message says what happened, what was received and what to do, and repeats no credential.
"""

import json
from enum import StrEnum
from typing import ClassVar

from privatellm.errors import PrivateLLMError

MESSAGE_LIMIT = 1000
"""Characters of a message: the kubelet keeps the last 2048 bytes of a failed container's log."""


class FetchReason(StrEnum):
    """Machine-readable reasons; the values appear in conditions and are part of the API."""

    CHECKSUM_MISMATCH = "ChecksumMismatch"
    SIZE_MISMATCH = "SizeMismatch"
    NOT_FOUND = "NotFound"
    ACCESS_DENIED = "AccessDenied"
    SOURCE_UNREACHABLE = "SourceUnreachable"
    SOURCE_REFUSED = "SourceRefused"
    INSUFFICIENT_STORAGE = "InsufficientStorage"
    STORAGE_FAILED = "StorageFailed"
    INVALID_SOURCE = "InvalidSource"


class FetchError(PrivateLLMError):
    """The model is not there, for a reason that somebody can act on."""

    reason: ClassVar[FetchReason]

    def to_line(self) -> str:
        """Return reason and message as one line of JSON."""
        message = " ".join(str(self).split())
        if len(message) > MESSAGE_LIMIT:
            message = message[: MESSAGE_LIMIT - 1] + "…"
        return json.dumps({"reason": self.reason, "message": message}, ensure_ascii=False)


class ChecksumMismatchError(FetchError):
    """The bytes are not the ones that the catalogue declares."""

    reason = FetchReason.CHECKSUM_MISMATCH


class SizeMismatchError(FetchError):
    """The source offers another length than the catalogue declares."""

    reason = FetchReason.SIZE_MISMATCH


class ModelNotFoundError(FetchError):
    """The source answers, but has no such file."""

    reason = FetchReason.NOT_FOUND


class AccessDeniedError(FetchError):
    """The source wants credentials that it did not get."""

    reason = FetchReason.ACCESS_DENIED


class SourceUnreachableError(FetchError):
    """The source does not answer, and asking again right away cannot help."""

    reason = FetchReason.SOURCE_UNREACHABLE


class SourceDisturbedError(SourceUnreachableError):
    """The source does not answer now, but may soon.

    Attributes:
        retry_after: seconds that the source asked us to wait, if it did.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SourceRefusedError(FetchError):
    """The platform's rules do not allow this source."""

    reason = FetchReason.SOURCE_REFUSED


class InsufficientStorageError(FetchError):
    """The file does not fit on the volume."""

    reason = FetchReason.INSUFFICIENT_STORAGE


class StorageFailedError(FetchError):
    """The volume cannot be written, for another reason than its size."""

    reason = FetchReason.STORAGE_FAILED


class InvalidSourceError(FetchError):
    """The source is not one that can be fetched."""

    reason = FetchReason.INVALID_SOURCE
