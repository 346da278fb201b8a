"""Downloading over HTTP into the partial file, across as many connections as it takes.

Each attempt starts at the source's own URL, because the storage URLs that hubs redirect to expire.
Failures that can heal are forgiven while the file grows: the count starts anew after a mebibyte
of progress, so that a bad line costs time and not the download.
"""

import httpx

from privatellm_operator.fetcher.client import SourceClient
from privatellm_operator.fetcher.errors import (
    InvalidSourceError,
    SourceDisturbedError,
    SourceUnreachableError,
)
from privatellm_operator.fetcher.job import Job
from privatellm_operator.fetcher.request import HuggingFaceSource, UrlSource
from privatellm_operator.fetcher.resume import (
    AlreadyWhole,
    Discard,
    Replace,
    Representation,
    ResumePoint,
    plan,
)
from privatellm_operator.fetcher.retry import RetryPolicy

PROGRESS_THAT_COUNTS = 1024 * 1024
"""Bytes of growth after which earlier failures are forgotten."""

_CHUNK = 1024 * 1024


def download(
    job: Job, source: UrlSource | HuggingFaceSource, client: SourceClient, policy: RetryPolicy
) -> None:
    """Download the source into the job's partial file.

    Raises:
        SourceUnreachableError: it failed more often in a row than the policy forgives.
        FetchError: any other reason, which waiting cannot heal.
    """
    failures, grown_to = 0, job.partial.size
    while True:
        try:
            _attempt(job, source, client)
        except SourceDisturbedError as error:
            has_grown = job.partial.size - grown_to >= PROGRESS_THAT_COUNTS
            failures = 1 if has_grown else failures + 1
            grown_to = max(grown_to, job.partial.size)
            if failures > policy.retries:
                raise SourceUnreachableError(f"Given up after {failures} tries: {error}") from error
            _pause(job, error, policy.delay(failures, job.tools.luck(), error.retry_after))
        else:
            return


def _pause(job: Job, error: SourceDisturbedError, seconds: float) -> None:
    job.tools.log("retry", message=str(error), seconds=round(seconds, 1), bytes=job.partial.size)
    job.tools.pause(seconds)


def _attempt(job: Job, source: UrlSource | HuggingFaceSource, client: SourceClient) -> None:
    """Make one connection's worth of progress; returns when the file is whole."""
    resume = job.partial.resume_point(is_digest_declared=job.request.sha256 is not None)
    while (discarded := _exchange(job, source, client, resume)) is not None:
        # Asking without a range cannot be answered by another Discard, so this ends.
        job.tools.log("restart", message=discarded.why)
        job.partial.discard()
        resume = None


def _exchange(
    job: Job,
    source: UrlSource | HuggingFaceSource,
    client: SourceClient,
    resume: ResumePoint | None,
) -> Discard | None:
    headers = {} if resume is None else resume.headers()
    with client.open(source.url, headers) as response:
        decided = plan(
            response.status_code,
            response.headers,
            resume,
            source=source.describe(),
            now=job.tools.now(),
        )
        if isinstance(decided, Discard):
            return decided
        job.accept(decided.representation.total)
        if isinstance(decided, Replace):
            job.partial.begin(decided.representation)
        if not isinstance(decided, AlreadyWhole):
            _receive(job, decided.representation, response)
    job.check_length(decided.representation.total)
    return None


def _receive(job: Job, representation: Representation, response: httpx.Response) -> None:
    """Append the body to the partial file."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise InvalidSourceError(
            f"{response.url.host} compresses the file although it was asked not to; use a server "
            "that sends files as they are."
        )
    done, total = job.partial.size, representation.total
    limit = total if total is not None else job.request.size_bytes
    progress = job.progress(total)
    with job.partial.appending() as file:
        # Chunks as they arrive: whatever the connection's end leaves unsaid is on the disk by then.
        for chunk in response.iter_raw():
            file.write(chunk)
            done += len(chunk)
            progress.at(done)
            if limit is not None and done > limit:
                break
    if total is not None and done < total:
        raise SourceDisturbedError(
            f"{response.url.host} ended the answer after {done} of {total} bytes; "
            "check that it is reachable from the cluster."
        )
