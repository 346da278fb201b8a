"""Durations, as Go reads them."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.durations import LONGEST, parse_duration
from privatellm.errors import InvalidInputError

KNOWN = {
    "720h": timedelta(days=30),
    "1h30m": timedelta(minutes=90),
    "90s": timedelta(seconds=90),
    "1.5h": timedelta(minutes=90),
    "250ms": timedelta(milliseconds=250),
    "1h1h": timedelta(hours=2),
    "0s": timedelta(0),
    "0.1s": timedelta(milliseconds=100),
    "2562047h": timedelta(hours=2562047),
}


@pytest.mark.parametrize(("text", "duration"), KNOWN.items())
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "1",
        "1d",
        "1w",
        "-1h",
        "+1h",
        "1 h",
        " 1h",
        "1h ",
        "1h\n",
        "1,5h",
        ".5h",
        "1.h",
        "\u0661h",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="720h"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["2562048h", "9" * 60 + "h", "153722868m"])
def test_what_go_cannot_count_is_refused(text: str) -> None:
    """The CRD's CEL rules run on Go's durations; the operator must not accept more than they do."""
    with pytest.raises(InvalidInputError, match="292 years"):
        parse_duration(text)


@given(st.integers(0, 2_000_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_parts_add_up_exactly(hours: int, minutes: int, milliseconds: int) -> None:
    text = f"{hours}h{minutes}m{milliseconds}ms"

    assert parse_duration(text) == timedelta(
        hours=hours, minutes=minutes, milliseconds=milliseconds
    )


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInputError):
        assert timedelta(0) <= parse_duration(text) <= LONGEST
