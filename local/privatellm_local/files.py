"""Private files, atomic writes and locks.

The one place where the operating system's file errors become :class:`~privatellm_local.errors.StateError`.
Other users of the machine are strangers: directories are 0700 and files 0600 from the first moment,
whatever the umask is. Locks are ``flock`` locks on files that are never removed, so that nobody can
hold a lock on a file that has already been replaced.
"""

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privatellm_local.errors import StateError

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


def make_private_directory(path: Path) -> None:
    """Create a directory, with its parents, that only we can enter.

    Raises:
        StateError: when it cannot be created or written.
    """
    with translated(path):
        path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        if path.stat().st_uid == os.geteuid():
            path.chmod(PRIVATE_DIRECTORY)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def absent(path: Path) -> tuple[Path, ...]:
    """Return the directories that are made with a directory, the innermost first; none when it exists.

    Raises:
        StateError: when somebody keeps us from looking.
    """
    with translated(path, need="readable"):
        return tuple(each for each in (path, *path.parents) if not each.exists())


def write_atomically(path: Path, content: str | bytes, mode: int = PRIVATE_FILE) -> None:
    """Replace a file in one step; readers see the old content or the new one, never a part.

    Raises:
        StateError: when the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    with translated(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def write_if_changed(path: Path, content: str) -> bool:
    """Write a text file unless it already says the same, and tell whether it was written."""
    if read_text(path) == content:
        return False
    write_atomically(path, content)
    return True


def read_text(path: Path) -> str | None:
    """Return the content of a text file, or ``None`` when there is no such file.

    Bytes that are no text are replaced, so that the parser behind us refuses what it cannot read in its
    own words.

    Raises:
        StateError: when the file is there but cannot be read.
    """
    with translated(path, need="readable"):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None


@contextmanager
def exclusive_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock and yield whether we got it.

    Args:
        path: The lock file; it is created when missing and never removed.
        wait: Wait for the holder to finish; otherwise yield ``False`` at once when somebody has it.

    Raises:
        StateError: when the lock file cannot be opened.
    """
    descriptor = open_lock(path)
    try:
        yield lock(descriptor, wait=wait)
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """Return a descriptor of a lock file, which is created when missing; the caller closes it.

    Raises:
        StateError: when it cannot be opened.
    """
    with translated(path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file for us alone, and tell whether we got it; always when we ``wait``."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def translated(path: Path, need: str = "writable") -> Iterator[None]:
    """Turn the operating system's file errors inside the block into a ``StateError``.

    Args:
        path: What the block works on.
        need: What the path must be for the current user, where rights are missing.
    """
    try:
        yield
    except OSError as error:
        raise StateError(_explanation(path, need, error)) from error


def _explanation(path: Path, need: str, error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"No space is left for {path}: free some disk space and run the command again."
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return (
            f"{path} must be {need} for the current user ({error.strerror}): change its "
            "permissions, or choose other places with --state DIR and PRIVATE_LLM_CACHE."
        )
    return (
        f"{path} cannot be used: {error.strerror or error}. Choose other places with --state DIR and "
        "PRIVATE_LLM_CACHE."
    )
