"""The pure decisions: what an answer means, how long to wait, when to report."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_operator.fetcher import errors
from privatellm_operator.fetcher.progress import Mark, is_due
from privatellm_operator.fetcher.resume import (
    AlreadyWhole,
    Append,
    Discard,
    Plan,
    Replace,
    Representation,
    ResumePoint,
    parse_retry_after,
    plan,
)
from privatellm_operator.fetcher.retry import RetryPolicy

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
KNOWN = Representation(validator='"v1"', total=100)
RESUME = ResumePoint(40, KNOWN)


def decide(status: int, resume: ResumePoint | None = RESUME, **headers: str) -> Plan:
    """Decide about an answer with these headers."""
    named = httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return plan(status, named, resume, source="the model", now=NOW)


def test_a_resumed_request_names_its_offset_and_its_condition() -> None:
    """The server is asked for the rest, or for the whole if it has changed."""
    assert RESUME.headers() == {"Range": "bytes=40-", "If-Range": '"v1"'}


def test_without_a_validator_there_is_no_condition() -> None:
    """An If-Range without a validator would be malformed."""
    assert ResumePoint(40, Representation(None, 100)).headers() == {"Range": "bytes=40-"}


def test_a_part_that_continues_the_file_is_appended() -> None:
    """Offset, length and validator fit."""
    decided = decide(206, Content_Range="bytes 40-99/100", ETag='"v1"')

    assert decided == Append(KNOWN)


@pytest.mark.parametrize(
    ("content_range", "etag"),
    [
        pytest.param("bytes 40-99/100", '"v2"', id="another version"),
        pytest.param("bytes 40-120/121", '"v1"', id="another length"),
        pytest.param("bytes 41-99/100", '"v1"', id="another offset"),
        pytest.param("bytes 0-99/100", '"v1"', id="from the start"),
        pytest.param("", '"v1"', id="no range at all"),
        pytest.param("pages 40-99/100", '"v1"', id="another unit"),
    ],
)
def test_a_part_that_does_not_fit_is_never_appended(content_range: str, etag: str) -> None:
    """The file starts over instead."""
    assert isinstance(decide(206, Content_Range=content_range, ETag=etag), Discard)


@given(
    offset=st.integers(min_value=0, max_value=200),
    total=st.integers(min_value=1, max_value=200),
    etag=st.sampled_from(['"v1"', '"v2"', 'W/"v1"', None]),
)
def test_only_fitting_parts_are_appended(offset: int, total: int, etag: str | None) -> None:
    """Whatever a server answers, an appended part begins where the file ends."""
    headers = {"Content-Range": f"bytes {offset}-{total}/{total}"}
    headers |= {} if etag is None else {"ETag": etag}

    if isinstance(plan(206, httpx.Headers(headers), RESUME, source="it", now=NOW), Append):
        assert offset == RESUME.offset
        assert total == KNOWN.total
        assert etag != '"v2"'


def test_the_whole_file_replaces_the_part() -> None:
    """A server may ignore the range."""
    decided = decide(200, Content_Length="100", ETag='"v2"')

    assert decided == Replace(Representation('"v2"', 100))


def test_a_weak_tag_is_no_validator() -> None:
    """It does not promise equal bytes; the time of modification steps in."""
    modified = "Mon, 30 Nov 2026 07:00:00 GMT"

    assert decide(200, None, ETag='W/"v1"') == Replace(Representation(None, None))
    assert decide(200, None, ETag='W/"v1"', Last_Modified=modified) == Replace(
        Representation(modified, None)
    )


def test_a_range_beyond_the_end_means_whole_or_wrong() -> None:
    """Only a file of exactly the partial file's length is whole."""
    whole = ResumePoint(100, KNOWN)

    assert decide(416, whole, Content_Range="bytes */100") == AlreadyWhole(KNOWN)
    assert isinstance(decide(416, whole, Content_Range="bytes */90"), Discard)
    assert isinstance(decide(416, whole), Discard)


def test_a_part_that_nobody_asked_for_is_refused() -> None:
    """There would be no telling what it is a part of."""
    with pytest.raises(errors.InvalidSourceError, match="without being asked"):
        decide(206, None, Content_Range="bytes 40-99/100")


@given(status=st.integers(min_value=100, max_value=599))
def test_every_status_has_a_meaning(status: int) -> None:
    """An answer is a plan or one of our errors, never a surprise."""
    if status == 200:
        assert isinstance(decide(status, None), Replace)
    else:
        expected = "without being asked" if status == 206 else f"HTTP {status}"
        with pytest.raises(errors.FetchError, match=expected):
            decide(status, None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param(None, None, id="absent"),
        pytest.param("120", 120.0, id="seconds"),
        pytest.param(format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0, id="date"),
        pytest.param(format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0, id="past date"),
        pytest.param("soon", None, id="unreadable"),
        pytest.param("-5", None, id="negative"),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    """Both forms of RFC 9110 are understood; anything else is ignored."""
    assert parse_retry_after(value, NOW) == seconds


@given(value=st.text(max_size=40))
def test_no_retry_after_breaks_the_parser(value: str) -> None:
    """The header comes from a stranger."""
    seconds = parse_retry_after(value, NOW)

    assert seconds is None or seconds >= 0


def test_delays_double_up_to_a_limit() -> None:
    """The bound grows from one second to a minute."""
    bounds = [RetryPolicy(9).delay(failure, 1.0, None) for failure in range(1, 9)]

    assert bounds == [1, 2, 4, 8, 16, 32, 60, 60]


@given(
    failure=st.integers(min_value=1, max_value=10_000),
    luck=st.floats(min_value=0, max_value=1),
    asked=st.none() | st.floats(min_value=0, max_value=1e9),
)
def test_a_delay_is_bounded_and_obeys_the_server(
    failure: int, luck: float, asked: float | None
) -> None:
    """Neither patience nor obedience is endless."""
    policy = RetryPolicy(9)

    delay = policy.delay(failure, luck, asked)

    assert min(asked or 0, policy.longest_retry_after_seconds) <= delay
    assert delay <= policy.longest_retry_after_seconds + policy.longest_delay_seconds


@pytest.mark.parametrize(
    ("seconds", "done", "due"),
    [
        pytest.param(0.1, 1, False, id="neither time nor progress"),
        pytest.param(2.0, 0, True, id="two seconds"),
        pytest.param(0.1, 50, True, id="five percent"),
        pytest.param(1.9, 49, False, id="just below both"),
    ],
)
def test_progress_is_due_after_two_seconds_or_five_percent(
    seconds: float, done: int, due: bool
) -> None:
    """A log is neither flooded nor silent."""
    assert is_due(Mark(0.0, 0), Mark(seconds, done), 1000) is due


def test_the_first_progress_is_due_at_once() -> None:
    """The log says early that bytes are coming in."""
    assert is_due(None, Mark(0.0, 0), None)
