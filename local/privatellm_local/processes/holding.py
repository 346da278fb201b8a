"""Lock files that name their holder.

The lock is the truth about whether somebody is at work: the kernel keeps it exactly as long as its
holder lives. The text in the file, the *signature*, says who that is. A signature counts only while
the process it names lives, so nothing has to be cleaned up after a crash.

A lock belongs to an open file, not to a process. It can be handed to a child, which then holds it from
its first moment on; there is no gap in which nobody does.
"""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files
from privatellm_local.processes.identity import ProcessIdentity, is_alive


class Role(StrEnum):
    """What a holder does with the environment."""

    SUPERVISOR = "supervisor"
    UP = "up"
    DOWN = "down"


class Signature(BaseModel):
    """Who holds a lock."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )

    role: Role
    process: ProcessIdentity | None
    """``None`` once the holder has let go."""

    stage: str = ""
    """What the holder is doing, for people."""

    file: str = ""
    """Which file was signed: a copy of a state directory says nothing about who runs there.

    Empty in what releases before 0.1 signed.
    """


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that we hold until its descriptor, and every copy that a child got, is closed."""

    path: Path
    descriptor: int

    @property
    def is_removed(self) -> bool:
        """Whether the file is gone; another one may have its name by now."""
        return os.fstat(self.descriptor).st_nlink == 0

    def sign(self, signature: Signature) -> None:
        """Write who holds the lock; a reader in this moment sees no signature.

        Raises:
            StateError: when it cannot be written.
        """
        text = self._filled_in(signature).model_dump_json(by_alias=True) + "\n"
        # In place: replacing the file would leave the lock on the one that was there before.
        with files.translated(self.path):
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, text.encode(), 0)

    def bears(self, signature: Signature) -> bool:
        """Say whether that is what the file says."""
        return read(self.path) == self._filled_in(signature)

    def _filled_in(self, signature: Signature) -> Signature:
        return signature.model_copy(update={"file": _identity(os.fstat(self.descriptor))})

    def close(self) -> None:
        """Let go of the lock."""
        os.close(self.descriptor)


def take(path: Path) -> Lock | None:
    """Take a lock, or return ``None`` when somebody has it.

    Raises:
        StateError: when the lock file cannot be opened.
    """
    lock = Lock(path, files.open_lock(path))
    # A file that was removed meanwhile protects nothing.
    if files.lock(lock.descriptor, wait=False) and not lock.is_removed:
        return lock
    lock.close()
    return None


def read(path: Path) -> Signature | None:
    """Return the last signature, whoever made it, or ``None`` when there is none."""
    text = files.read_text(path)
    try:
        return Signature.model_validate_json(text) if text else None
    except ValidationError:
        return None


def living(path: Path) -> Signature | None:
    """Return the signature of a holder that lives and signed this very file, or ``None``."""
    signature = read(path)
    if signature is None or signature.process is None or not is_alive(signature.process):
        return None
    try:
        is_original = signature.file in ("", _identity(path.stat()))
    except OSError:
        return None
    return signature if is_original else None


def is_held(path: Path) -> bool:
    """Return whether anybody holds the lock, signed or not.

    It takes the lock for a moment, so who wants it must try more than once.
    """
    with files.translated(path, need="readable"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
    try:
        return not files.lock(descriptor, wait=False)
    finally:
        os.close(descriptor)


def _identity(stat: os.stat_result) -> str:
    return f"{stat.st_dev}:{stat.st_ino}"
