"""Copying from a mounted volume or, where the platform allows it, from the node's own disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from privatellm_operator.fetcher.errors import (
    AccessDeniedError,
    InvalidSourceError,
    ModelNotFoundError,
    SourceUnreachableError,
)
from privatellm_operator.fetcher.job import Job
from privatellm_operator.fetcher.request import PathSource
from privatellm_operator.fetcher.resume import Representation

_CHUNK = 4 * 1024 * 1024


def copy(job: Job, source: PathSource) -> None:
    """Copy the source into the job's partial file.

    Raises:
        ModelNotFoundError, AccessDeniedError, InvalidSourceError: the source cannot be opened.
        SourceUnreachableError: reading it failed half-way.
        SizeMismatchError, InsufficientStorageError, StorageFailedError: see the job.
    """
    with _source_errors(source.path):
        if not source.path.is_file():
            raise _not_a_file(source.path)
        size = source.path.stat().st_size
        file = source.path.open("rb")
    with file:
        job.partial.discard()
        job.accept(size)
        job.partial.begin(Representation(validator=None, total=size))
        progress = job.progress(size)
        with job.partial.appending() as target:
            done = 0
            for chunk in _chunks(file, source.path):
                target.write(chunk)
                done += len(chunk)
                progress.at(done)
    job.check_length(size)


def _chunks(file: BinaryIO, path: Path) -> Iterator[bytes]:
    while True:
        with _source_errors(path):
            chunk = file.read(_CHUNK)
        if not chunk:
            return
        yield chunk


def _not_a_file(path: Path) -> ModelNotFoundError | InvalidSourceError:
    if path.exists():
        return InvalidSourceError(f"{path} is not a file; name the GGUF file itself.")
    return ModelNotFoundError(f"{path} does not exist; correct the model's source.")


@contextmanager
def _source_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise AccessDeniedError(
            f"{path} may not be read by this process; change the file's permissions."
        ) from error
    except OSError as error:
        raise SourceUnreachableError(
            f"Reading {path} failed ({error.strerror}); check the volume it is on."
        ) from error
