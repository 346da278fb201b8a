"""The recipe: look, lock, look again, obtain, verify, publish.

A file counts as there when its digest is the declared one or, without a declared digest, when our
own marker says that it came from this very source. Everything else is fetched, and nothing becomes
visible under the output's name before length, format and digest are checked.
"""

from dataclasses import dataclass
from pathlib import Path

from privatellm_operator.fetcher import local, storage
from privatellm_operator.fetcher.addresses import AddressRule
from privatellm_operator.fetcher.client import Credential, SourceClient
from privatellm_operator.fetcher.download import download
from privatellm_operator.fetcher.errors import (
    ChecksumMismatchError,
    FetchError,
    InvalidSourceError,
)
from privatellm_operator.fetcher.job import Job, Tools
from privatellm_operator.fetcher.marker import digest_of, read_marker, write_marker
from privatellm_operator.fetcher.request import (
    FetchRequest,
    HuggingFaceSource,
    PathSource,
    UrlSource,
)
from privatellm_operator.fetcher.retry import RetryPolicy

GGUF_MAGIC = b"GGUF"

WAIT_SECONDS = 1.0
"""Pause between two looks at a cache that somebody else fills; a look reads one small file."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A verified file.

    Attributes:
        path: Where it is.
        sha256: Its digest.
        size_bytes: Its length.
        was_present: Whether it was there already, so that nothing was fetched.
    """

    path: Path
    sha256: str
    size_bytes: int
    was_present: bool = False


def fetch(request: FetchRequest, tools: Tools, policy: RetryPolicy | None = None) -> Fetched:
    """Bring the requested file to its output, unless it is there already.

    Args:
        request: what to fetch.
        tools: what to use of the world.
        policy: how to retry; by default as often as the request says.

    Raises:
        FetchError: the file is not there; the output is what it was before.
    """
    present = find_present(request)
    if present is not None:
        tools.log("present", path=str(present.path), sha256=present.sha256)
        return present
    if request.waits:
        return _wait(request, tools)
    with storage.locked(request.output, lambda: tools.log("waiting", path=str(request.output))):
        # Whoever held the lock may have fetched this very file.
        present = find_present(request)
        if present is not None:
            tools.log("present", path=str(present.path), sha256=present.sha256)
            return present
        for orphan in storage.remove_orphans(request.output, tools.now().timestamp()):
            tools.log("orphan removed", path=str(orphan))
        return _fetch_locked(request, tools, policy or RetryPolicy(request.retries))


def _wait(request: FetchRequest, tools: Tools) -> Fetched:
    """Wait for as long as it takes: whoever fetches says what goes wrong."""
    tools.log("waiting", path=str(request.output))
    while (present := find_present(request)) is None:
        tools.pause(WAIT_SECONDS)
    tools.log("present", path=str(present.path), sha256=present.sha256)
    return present


def find_present(request: FetchRequest) -> Fetched | None:
    """Return the output if it already is the requested file; needs no network and writes nothing.

    Raises:
        StorageFailedError: the output cannot be looked at.
    """
    with storage.storage_errors(request.output):
        return _present(request) if request.output.is_file() else None


def _present(request: FetchRequest) -> Fetched | None:
    output = request.output
    size = output.stat().st_size
    if request.size_bytes not in {None, size}:
        return None
    marker = read_marker(output)
    if request.sha256 is None:
        is_ours = marker is not None and marker.source == request.source.identity
        return _found(output, marker.sha256, size) if marker is not None and is_ours else None
    digest = marker.sha256 if marker is not None else digest_of(output)
    return _found(output, digest, size) if digest == request.sha256 else None


def _found(output: Path, digest: str, size: int) -> Fetched:
    return Fetched(output, digest, size, was_present=True)


def _fetch_locked(request: FetchRequest, tools: Tools, policy: RetryPolicy) -> Fetched:
    partial = storage.PartialFile(request.output, request.source.identity)
    job = Job(request, partial, tools)
    tools.log("fetch", source=request.source.describe(), path=str(request.output))
    is_continued = partial.size > 0
    try:
        return _publish(job, _obtain_verified(job, policy))
    except ChecksumMismatchError as error:
        if not is_continued:
            raise
        # The bytes of an earlier run may be the damaged ones; a fresh start tells.
        tools.log("restart", message=str(error))
        return _publish(job, _obtain_verified(job, policy))


def _obtain_verified(job: Job, policy: RetryPolicy) -> str:
    """Obtain the file and return its digest; what fails the checks is not kept."""
    _obtain(job, policy)
    try:
        return _verify(job)
    except FetchError:
        job.partial.discard()
        raise


def _obtain(job: Job, policy: RetryPolicy) -> None:
    match job.request.source:
        case PathSource() as source:
            local.copy(job, source)
        case (UrlSource() | HuggingFaceSource()) as source:
            client = _client(job)
            try:
                download(job, source, client, policy)
            finally:
                client.close()


def _client(job: Job) -> SourceClient:
    request, source = job.request, job.request.source
    credential = None
    if request.token is not None and isinstance(source, HuggingFaceSource):
        credential = Credential(source.endpoint, request.token)
    return SourceClient(
        rule=AddressRule(allow_private=request.allow_private_sources),
        ca_file=request.ca_file,
        credential=credential,
        resolver=job.tools.resolver,
        read_timeout_seconds=job.tools.read_timeout_seconds,
    )


def _verify(job: Job) -> str:
    """Check format and digest of what was obtained, as it is on the disk.

    Raises:
        ChecksumMismatchError: the digest is not the declared one.
        InvalidSourceError: a ``.gguf`` output is not in GGUF format.
    """
    request = job.request
    digest = digest_of(job.partial.path)
    if request.sha256 not in {None, digest}:
        raise ChecksumMismatchError(
            f"{request.source.describe()} has SHA-256 {digest}, but {_expectation(request)}; "
            "the file was changed at its source or on the way. Compare with the publisher's digest "
            "before setting the model's sha256."
        )
    if request.output.suffix == ".gguf":
        _check_format(job)
    return digest


def _expectation(request: FetchRequest) -> str:
    if request.is_digest_recorded:
        return f"{request.sha256} was recorded on its first use"
    return f"the model declares {request.sha256}"


def _check_format(job: Job) -> None:
    with storage.storage_errors(job.partial.path), job.partial.path.open("rb") as file:
        magic = file.read(len(GGUF_MAGIC))
    if magic != GGUF_MAGIC:
        raise InvalidSourceError(
            f"{job.request.source.describe()} is not in GGUF format (it starts with {magic!r}); "
            "it may be an error page. Correct the model's source."
        )


def _publish(job: Job, digest: str) -> Fetched:
    output, size = job.request.output, job.partial.size
    # The marker comes first: after a crash in between it describes no file and is not believed.
    write_marker(output, job.partial.path, digest, job.request.source.identity)
    job.partial.publish()
    job.tools.log("fetched", path=str(output), sha256=digest, bytes=size)
    return Fetched(output, digest, size)
