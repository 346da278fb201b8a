"""Downloads against a real HTTP server that misbehaves in every way we know."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fetcher_source as faults
from fetcher_source import HttpSource
from fetcher_tools import Recorder
from privatellm_operator.fetcher import errors
from privatellm_operator.fetcher.fetch import fetch
from privatellm_operator.fetcher.request import FetchRequest, UrlSource

CONTENT = b"GGUF" + os.urandom(3 * 1024 * 1024)
HALF = len(CONTENT) // 2


@pytest.fixture
def source() -> Iterator[HttpSource]:
    """Serve a model."""
    with faults.running(HttpSource(CONTENT)) as running:
        yield running


@pytest.fixture
def recorder() -> Recorder:
    """Record what the fetch does."""
    return Recorder()


@pytest.fixture
def request_(source: HttpSource, tmp_path: Path) -> FetchRequest:
    """Ask for the model with everything declared."""
    return FetchRequest(
        output=tmp_path / "models" / "m.gguf",
        source=UrlSource(source.url),
        sha256=source.sha256,
        size_bytes=len(CONTENT),
        allow_private_sources=True,
    )


def leftovers(request: FetchRequest) -> set[str]:
    """Return the names of the files beside the output."""
    return {path.name for path in request.output.parent.iterdir()} - {request.output.name}


def test_a_file_arrives_whole_and_verified(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """The plain case: one request, no pause, no partial file left."""
    fetched = fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT
    assert (fetched.sha256, fetched.size_bytes) == (source.sha256, len(CONTENT))
    assert recorder.pauses == []
    assert leftovers(request_) == {"m.gguf.lock", "m.gguf.verified"}


def test_a_cut_connection_is_continued_where_it_broke(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """No byte that arrived is fetched twice."""
    source.script = [faults.cut(HALF), faults.cut(1000)]

    fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT
    assert source.ranges == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]
    assert source.requests[1].headers["If-Range"] == '"v1"'


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    cuts=st.lists(st.integers(min_value=0, max_value=900), max_size=5),
    content=st.binary(min_size=1, max_size=1000),
)
def test_any_number_of_cuts_gives_the_same_file(
    tmp_path: Path, cuts: list[int], content: bytes
) -> None:
    """Wherever connections break, the parts fit together."""
    with faults.running(HttpSource(b"GGUF" + content)) as source:
        source.script = [faults.cut(after) for after in cuts]
        request = FetchRequest(
            output=tmp_path / f"{source.sha256}.gguf",
            source=UrlSource(source.url),
            sha256=source.sha256,
            allow_private_sources=True,
        )
        request.output.unlink(missing_ok=True)

        fetch(request, Recorder().tools())

        assert request.output.read_bytes() == source.content


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_a_status_that_can_heal_is_tried_again(
    source: HttpSource, request_: FetchRequest, recorder: Recorder, code: int
) -> None:
    """A server that is busy for a moment costs a pause."""
    source.script = [faults.status(code), faults.status(code)]

    fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT
    assert recorder.pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, errors.InvalidSourceError),
        (401, errors.AccessDeniedError),
        (403, errors.AccessDeniedError),
        (404, errors.ModelNotFoundError),
        (410, errors.ModelNotFoundError),
        (501, errors.InvalidSourceError),
    ],
)
def test_a_status_that_cannot_heal_fails_at_once(
    source: HttpSource,
    request_: FetchRequest,
    recorder: Recorder,
    code: int,
    error: type[errors.FetchError],
) -> None:
    """Nobody waits for a file that does not exist, and the status is named."""
    source.script = [faults.status(code)]

    with pytest.raises(error, match=f"HTTP {code}"):
        fetch(request_, recorder.tools())
    assert len(source.requests) == 1


def test_a_server_that_asks_for_patience_gets_it(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Retry-After is never shortened by the jitter."""
    source.script = [faults.status(429, Retry_After="37")]

    fetch(request_, recorder.tools(luck=lambda: 0.0))

    assert recorder.pauses == [37.0]


def test_a_source_that_stays_down_is_given_up_and_named(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Failures without progress are counted."""
    source.script = [faults.status(503)] * 10

    with pytest.raises(errors.SourceUnreachableError, match=r"after 4 tries.*HTTP 503"):
        fetch(replace(request_, retries=3), recorder.tools())
    assert len(recorder.pauses) == 3


def test_progress_makes_up_for_failures(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A line that breaks after each mebibyte delivers in the end with a single retry allowed."""
    source.script = [faults.cut(1024 * 1024)] * 2

    fetch(replace(request_, retries=1), recorder.tools())

    assert request_.output.read_bytes() == CONTENT


def test_a_silent_connection_is_given_up_and_continued(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A half-open connection does not hold the download for ever."""
    source.script = [faults.silent_after(HALF)]

    fetch(request_, recorder.tools(read_timeout_seconds=0.2))

    assert request_.output.read_bytes() == CONTENT
    assert source.ranges == [None, f"bytes={HALF}-"]


def test_a_server_without_ranges_starts_over(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A whole answer replaces the part and is never appended to it."""
    source.script = [faults.cut(HALF), faults.without_ranges]

    fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT


@pytest.mark.parametrize("honours_conditions", [True, False])
def test_a_file_that_changed_meanwhile_starts_over(
    source: HttpSource, request_: FetchRequest, recorder: Recorder, honours_conditions: bool
) -> None:
    """Parts of two versions are never mixed, also if the server ignores If-Range."""
    newer = b"GGUF" + bytes(len(CONTENT) - 4)

    def change(exchange: faults.Exchange, served: HttpSource) -> None:
        served.content, served.etag = newer, '"v2"'
        answer = faults.serve if honours_conditions else faults.without_conditions
        answer(exchange, served)

    source.script = [faults.cut(HALF), change]

    fetch(replace(request_, sha256=None), recorder.tools())

    assert request_.output.read_bytes() == newer


def test_without_validator_or_digest_nothing_is_continued(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """What cannot be known to fit is fetched again."""
    source.etag = None
    source.script = [faults.cut(HALF)]

    fetch(replace(request_, sha256=None), recorder.tools())

    assert source.ranges == [None, None]
    assert request_.output.read_bytes() == CONTENT


def test_without_validator_a_declared_digest_allows_to_continue(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """The digest will tell whether the parts fit."""
    source.etag = None
    source.script = [faults.cut(HALF)]

    fetch(request_, recorder.tools())

    assert source.ranges == [None, f"bytes={HALF}-"]


def test_a_length_other_than_declared_is_refused_before_the_first_byte(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Both lengths are named and nothing is kept."""
    with pytest.raises(errors.SizeMismatchError, match=f"{len(CONTENT)} bytes.*declares 17"):
        fetch(replace(request_, size_bytes=17), recorder.tools())
    assert leftovers(request_) == {"m.gguf.lock"}
    assert not request_.output.exists()


@pytest.mark.parametrize("declared", [len(CONTENT) - 1, len(CONTENT) + 1])
def test_a_length_that_shows_only_at_the_end_is_refused_as_well(
    source: HttpSource, request_: FetchRequest, recorder: Recorder, declared: int
) -> None:
    """A chunked answer announces no length, and is checked all the same."""
    source.script = [faults.without_length]

    with pytest.raises(errors.SizeMismatchError, match=f"instead of {declared}"):
        fetch(replace(request_, size_bytes=declared), recorder.tools())
    assert not request_.output.exists()


def test_a_chunked_answer_of_the_right_length_is_accepted(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A server need not announce the length."""
    source.script = [faults.without_length]

    fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT


def test_wrong_bytes_are_refused_and_not_kept(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Both digests are named; the output and the partial file stay absent."""
    with pytest.raises(errors.ChecksumMismatchError) as refusal:
        fetch(replace(request_, sha256="0" * 64), recorder.tools())

    assert source.sha256 in str(refusal.value)
    assert "0" * 64 in str(refusal.value)
    assert leftovers(request_) == {"m.gguf.lock"}
    assert not request_.output.exists()


def test_damaged_bytes_of_an_earlier_run_are_fetched_again(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A partial file that went bad on the disk costs a fresh start, not the instance."""
    source.script = [faults.cut(HALF), faults.status(404)]
    with pytest.raises(errors.ModelNotFoundError):
        fetch(request_, recorder.tools())
    partial = request_.output.with_name("m.gguf.partial")
    partial.write_bytes(bytes(partial.stat().st_size))

    fetch(request_, recorder.tools())

    assert request_.output.read_bytes() == CONTENT
    assert "restart" in recorder.names()


def test_an_error_page_is_not_taken_for_a_model(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """A portal's login page comes with status 200."""
    source.content = b"<!DOCTYPE html><title>Log in</title>"
    request = replace(request_, sha256=None, size_bytes=None)

    with pytest.raises(errors.InvalidSourceError, match="not in GGUF format"):
        fetch(request, recorder.tools())
    assert leftovers(request_) == {"m.gguf.lock"}


def test_a_compressed_answer_is_refused(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Compressed bytes have another length and could not be continued."""

    def compressed(exchange: faults.Exchange, served: HttpSource) -> None:
        exchange.begin(
            200, {"Content-Encoding": "gzip", "Content-Length": str(len(served.content))}
        )
        exchange.wfile.write(served.content)

    source.script = [compressed]

    with pytest.raises(errors.InvalidSourceError, match="compresses"):
        fetch(request_, recorder.tools())


def test_a_model_larger_than_the_volume_is_refused_before_the_first_byte(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """Both amounts are named, and no space is used up in the attempt."""

    def huge(exchange: faults.Exchange, _served: HttpSource) -> None:
        exchange.begin(200, {"Content-Length": str(2**60)})

    source.script = [huge]
    request = replace(request_, sha256=None, size_bytes=None)

    with pytest.raises(errors.InsufficientStorageError, match=r"needs .* MiB more and .* free"):
        fetch(request, recorder.tools())
    assert leftovers(request_) == {"m.gguf.lock"}


def test_progress_is_reported_with_a_percentage(
    source: HttpSource, request_: FetchRequest, recorder: Recorder
) -> None:
    """The last line says that everything is there."""
    fetch(request_, recorder.tools())

    reports = [event for event in recorder.events if event["event"] == "progress"]
    assert reports[-1]["percent"] == 100.0
    assert reports[-1]["bytes"] == reports[-1]["total_bytes"] == len(CONTENT)
    assert len(reports) <= 22
