"""Programs that were built before: where they are kept, and whether they still are what was built.

Beside each program lies a record with its size and SHA-256. A full disk, a crash or a stray hand leaves
files that exist and do not work, so every start compares; reading the control plane's 325 MB takes a
third of a second. What differs, or has no record, counts as not built. This finds accidents; it protects
from nobody, since whoever can write the program can write the record.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from privatellm_local import files
from privatellm_local.build.programs import Program
from privatellm_local.paths import CachePaths


class Record(BaseModel):
    """What a program was when it was built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    """In bytes."""

    sha256: str


def place(cache: CachePaths, go_version: str, program: Program) -> Path:
    """Return where a program is kept; it need not be there yet."""
    return cache.binaries / program.digest(go_version) / program.name


def record_file(path: Path) -> Path:
    """Return where the record of a program is."""
    return path.with_name(f"{path.name}.json")


def keep(result: Path, path: Path) -> None:
    """Move a program that was just built to its place and record what it is.

    Raises:
        StateError: when it cannot be written.
    """
    with files.translated(path):
        record = Record(size=result.stat().st_size, sha256=_digest(result))
        result.replace(path)
    files.write_atomically(record_file(path), record.model_dump_json())


def is_sound(path: Path) -> bool:
    """Say whether a program is there and is what was built.

    Raises:
        StateError: when it is there but cannot be read.
    """
    with files.translated(path):
        record = _record(path)
        # The size first: most damage shows in it, and it costs nothing.
        return (
            record is not None
            and path.is_file()
            and path.stat().st_size == record.size
            and _digest(path) == record.sha256
        )


def missing(programs: Sequence[Program], cache: CachePaths, go_version: str) -> tuple[Program, ...]:
    """Return the programs that must be built.

    Raises:
        StateError: when one is there but cannot be read.
    """
    with ThreadPoolExecutor() as pool:
        sound = pool.map(is_sound, [place(cache, go_version, program) for program in programs])
        return tuple(program for program, kept in zip(programs, sound, strict=True) if not kept)


def _record(path: Path) -> Record | None:
    try:
        return Record.model_validate_json(files.read_text(record_file(path)) or "")
    except ValueError:
        return None  # It is not there, or no record: bytes that are no text, no JSON, other fields.


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
