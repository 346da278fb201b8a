"""A record beside a finished file that spares the next start a full read of it.

Hashing 7 GB takes longer than starting a pod should, and a shared cache is opened by every pod of
a model. So a verified file gets a marker ``<file>.verified`` with its digest, its source and the
file's inode, size and time of modification. The digest is believed only while all three still
hold; after any change of the file the digest is computed again.

The marker saves time, it does not grant trust: whoever can write the cache's directory can replace
the file after any check. That is why tenants' pods mount shared caches read-only. Silent corruption
of the medium is not noticed while a marker holds; removing the marker forces a full check.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from privatellm.foreign import parse_json
from privatellm_operator.fetcher.storage import beside, storage_errors

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What changes when somebody changes or replaces a file."""

    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a file's fingerprint."""
        status = path.stat()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Marker:
    """A verified file's digest and source."""

    sha256: str
    source: str
    fingerprint: Fingerprint


def read_marker(output: Path) -> Marker | None:
    """Return the marker if it describes the file as it is now."""
    # A marker that cannot be read proves nothing, and the file is then checked in full.
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = parse_json(beside(output, "verified").read_text(encoding="utf-8"))
        marker = Marker(
            sha256=record["sha256"],
            source=record["source"],
            fingerprint=Fingerprint(**record["fingerprint"]),
        )
        if marker.fingerprint == Fingerprint.of(output):
            return marker
    return None


def write_marker(output: Path, verified: Path, sha256: str, source: str) -> None:
    """Record that a file was verified.

    Args:
        output: the file that the marker stands beside.
        verified: the file as it is called now; a later rename keeps its fingerprint.
        sha256: its digest.
        source: identity of its source.
    """
    path, draft = beside(output, "verified"), beside(output, "verified.draft")
    with storage_errors(path):
        draft.write_text(
            json.dumps(asdict(Marker(sha256, source, Fingerprint.of(verified)))), encoding="utf-8"
        )
        draft.replace(path)


def digest_of(path: Path, on_read: Callable[[int], None] = lambda _done: None) -> str:
    """Compute a file's SHA-256 in hexadecimal, telling how many bytes were read so far."""
    digest, done = hashlib.sha256(), 0
    with storage_errors(path), path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            on_read(done)
    return digest.hexdigest()
