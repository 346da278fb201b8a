"""The files of one fetch: a partial file beside the output, a lock, and an atomic publication.

Beside ``model.gguf`` live ``model.gguf.partial`` (the bytes so far), ``model.gguf.partial.json``
(what they are a part of) and ``model.gguf.lock`` (held while a fetch runs; it stays, because
removing a lock file lets two processes hold "the" lock at once). The output appears by a rename
after its bytes have reached the disk, so it is whole whenever it is there.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from privatellm.foreign import parse_json
from privatellm_operator.fetcher.errors import InsufficientStorageError, StorageFailedError
from privatellm_operator.fetcher.resume import Representation, ResumePoint

ORPHAN_AGE_SECONDS = 24 * 3600
"""Age after which a partial file that nobody writes to counts as abandoned."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MEBIBYTE = 1024 * 1024


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn failures to write into our errors.

    Raises:
        InsufficientStorageError: the volume, a quota or a file size limit is exhausted.
        StorageFailedError: anything else that keeps the directory from being written.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise InsufficientStorageError(
                f"There is no room left for {path} ({error.strerror}); give the volume more space "
                "or choose a smaller model."
            ) from error
        raise StorageFailedError(
            f"{path} cannot be written ({error.strerror or error}); check the volume and its "
            "permissions."
        ) from error


def check_space(directory: Path, needed: int) -> None:
    """Check before the first byte that the rest of the file will fit.

    Args:
        directory: where the file goes.
        needed: bytes still to be written.

    Raises:
        InsufficientStorageError: there is less room than that.
    """
    with storage_errors(directory):
        free = shutil.disk_usage(directory).free
    if needed > free:
        raise InsufficientStorageError(
            f"The model needs {_mebibytes(needed)} more and {directory} has {_mebibytes(free)} "
            "free; give the volume more space or choose a smaller model."
        )


def _mebibytes(count: int) -> str:
    return f"{count / _MEBIBYTE:.1f} MiB"


@dataclass(frozen=True, slots=True)
class PartialFile:
    """The bytes of an unfinished fetch and the record of what they are a part of."""

    output: Path
    source_identity: str

    @property
    def path(self) -> Path:
        """Where the bytes are."""
        return beside(self.output, "partial")

    @property
    def _record(self) -> Path:
        return beside(self.output, "partial.json")

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def resume_point(self, *, is_digest_declared: bool) -> ResumePoint | None:
        """Return where to continue, or None if the bytes are not known to belong to this source.

        Without a validator of the server only a declared digest can tell whether the parts fit.
        """
        representation = self._read_record()
        if self.size == 0 or representation is None:
            return None
        if representation.validator is None and not is_digest_declared:
            return None
        return ResumePoint(self.size, representation)

    def _read_record(self) -> Representation | None:
        # A record that cannot be read is no record; the file is then fetched from its start.
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = parse_json(self._record.read_text(encoding="utf-8"))
            if record["source"] == self.source_identity:
                return Representation(record["validator"], record["total"])
        return None

    def begin(self, representation: Representation) -> None:
        """Start over with an empty file of this representation."""
        self.discard()
        record = {
            "source": self.source_identity,
            "validator": representation.validator,
            "total": representation.total,
        }
        with storage_errors(self._record):
            self._record.write_text(json.dumps(record), encoding="utf-8")

    @contextmanager
    def appending(self) -> Iterator[BinaryIO]:
        """Open the file for bytes at its end; what was written survives a failure."""
        with storage_errors(self.path), self.path.open("ab") as file:
            yield file

    def discard(self) -> None:
        """Remove bytes and record."""
        with storage_errors(self.path):
            self.path.unlink(missing_ok=True)
            self._record.unlink(missing_ok=True)

    def publish(self) -> None:
        """Make the file appear as the output, whole and on the disk."""
        with storage_errors(self.output):
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
            self.path.replace(self.output)
            _sync_directory(self.output.parent)
            self._record.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def beside(output: Path, suffix: str) -> Path:
    """Return the path of a file that belongs to the output."""
    return output.with_name(f"{output.name}.{suffix}")


@contextmanager
def locked(output: Path, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the output's lock, so that of several fetches into a shared cache one works.

    The kernel frees the lock with the process that held it, however that ends.

    Args:
        output: the file to be fetched.
        when_waiting: called once if another process holds the lock.
    """
    lock = beside(output, "lock")
    with storage_errors(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with storage_errors(lock):
            _acquire(descriptor, when_waiting)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, when_waiting: Callable[[], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        when_waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def remove_orphans(output: Path, now_seconds: float) -> tuple[Path, ...]:
    """Remove abandoned partial files of other outputs in the same directory.

    The output's own partial file is kept whatever its age, since it is about to be continued.

    Args:
        output: the file to be fetched.
        now_seconds: the current time as seconds of the epoch.

    Returns:
        What was removed.
    """
    own = {beside(output, "partial"), beside(output, "partial.json")}
    removed = []
    for pattern in ("*.partial", "*.partial.json"):
        for path in sorted(set(output.parent.glob(pattern)) - own):
            # Another fetch may remove the same orphan, and a shared cache may hold files that are
            # not ours to remove. Neither is a reason to fetch nothing.
            with suppress(OSError):
                if now_seconds - path.lstat().st_mtime > ORPHAN_AGE_SECONDS:
                    path.unlink()
                    removed.append(path)
    return tuple(removed)
