"""Writing the directories and files of pods: private, atomic, and only when something changes.

Unlike in :mod:`privatellm_local.files` nothing here must survive a power cut (it is made again from the
API server's objects), so nothing waits for the disk, and errors stay those of the operating system.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


def make_directory(path: Path) -> Path:
    """Create a directory and its parents, for its owner alone."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    return path


def make_empty_directory(path: Path) -> Path:
    """Create a directory, or empty the one that is there."""
    shutil.rmtree(path, ignore_errors=True)
    return make_directory(path)


def write(path: Path, contents: bytes) -> None:
    """Replace a file in one step, so that a reader sees the old or the new contents; never a mixture.

    A file that is already right is not touched, so that programs which watch it are not woken.
    """
    if path.is_file() and path.read_bytes() == contents:
        return
    make_directory(path.parent)
    # mkstemp creates with mode 0600; the contents are never readable by others, not even for a moment.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(contents)
    Path(temporary).replace(path)


def synchronise(directory: Path, files: Mapping[PurePosixPath, bytes]) -> None:
    """Make a directory hold exactly these files."""
    make_directory(directory)
    for relative, contents in files.items():
        write(directory / relative, contents)
    wanted = {directory / relative for relative in files}
    for path in directory.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def remove(path: Path) -> None:
    """Remove a directory with everything in it; an absent one is fine."""
    shutil.rmtree(path, ignore_errors=True)
