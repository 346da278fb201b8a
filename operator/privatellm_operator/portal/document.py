"""The document that is served: read from a file, checked, and read again when the file changed.

A ConfigMap's volume changes under a running process. A file that is no JSON is never served: the last good
document stays, because a portal that gets half a page shows nothing.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document as it goes over the wire.

    Attributes:
        body: Its bytes.
        tag: What tells it from other documents.
    """

    body: bytes
    tag: str

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file.

        Raises:
            InvalidInputError: when it cannot be read or holds no JSON object.
        """
        try:
            body = file.read_bytes()
            content = parse_json(body)
        except (OSError, InvalidInputError) as error:
            raise InvalidInputError(
                f"The document {file} cannot be read as JSON: {error}."
            ) from error
        if not isinstance(content, dict):
            raise InvalidInputError(
                f"The document {file} must be a JSON object; got {type(content).__name__}."
            )
        return cls(body, hashlib.sha256(body).hexdigest()[:32])


class Source:
    """The newest good document of a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._document: Document | None = None

    def current(self) -> Document | None:
        """Return the document, or ``None`` while there never was a good one."""
        version = self._version()
        if version != self._seen:
            self._seen = version
            self._read()
        return self._document

    def _version(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> None:
        try:
            self._document = Document.read(self._file)
        except InvalidInputError as error:
            log.error("document not taken over", error=str(error))  # noqa: TRY400 - the message says it
        else:
            log.info("serving", tag=self._document.tag, bytes=len(self._document.body))
