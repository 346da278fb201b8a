"""When a stopping server may go."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.draining import (
    POLL_INTERVAL_SECONDS,
    QUIET_READINGS,
    Load,
    Outcome,
    drain,
    parse_load,
)
from privatellm.errors import InvalidInputError

BUSY = Load(processing=1, deferred=0)
WAITING = Load(processing=0, deferred=2)
QUIET = Load(processing=0, deferred=0)

METRICS = """\
# HELP llamacpp:requests_processing Number of requests processing.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 2
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 1
llamacpp:requests_processing_total 99
"""


@dataclass
class Time:
    """A clock that only waiting moves."""

    now: float = 0.0
    insist_after: float = float("inf")
    waits: list[float] = field(default_factory=list)

    def clock(self) -> float:
        """Tell the time."""
        return self.now

    def wait(self, seconds: float) -> bool:
        """Let the time pass."""
        self.waits.append(seconds)
        self.now += seconds
        return self.now >= self.insist_after


def readings(loads: Iterable[Load]) -> Callable[[], Load]:
    """Give one load after the other, then quiet for ever."""
    remaining: Iterator[Load] = iter(loads)
    return lambda: next(remaining, QUIET)


def test_an_idle_server_goes_after_three_quiet_readings() -> None:
    """One quiet reading proves nothing, three in a row do."""
    time = Time()

    assert drain(readings([]), time.wait, time.clock, 60) is Outcome.QUIET
    assert time.waits == [POLL_INTERVAL_SECONDS] * (QUIET_READINGS - 1)


@pytest.mark.parametrize("load", [BUSY, WAITING], ids=["processing", "deferred"])
def test_a_request_between_quiet_readings_starts_the_count_anew(load: Load) -> None:
    """A request that was still being read when the metrics were quiet is not cut."""
    time = Time()

    outcome = drain(readings([QUIET, QUIET, load]), time.wait, time.clock, 60)

    assert outcome is Outcome.QUIET
    assert len(time.waits) == 3 + QUIET_READINGS - 1


def test_the_grace_period_bounds_the_drain() -> None:
    """An endless stream does not keep the server for ever."""
    time = Time()

    assert drain(lambda: BUSY, time.wait, time.clock, 5) is Outcome.GRACE_OVER
    assert time.now == pytest.approx(5, abs=POLL_INTERVAL_SECONDS)


def test_a_second_signal_ends_the_drain_at_once() -> None:
    """Someone who asks twice does not want to wait."""
    time = Time(insist_after=1)

    assert drain(lambda: BUSY, time.wait, time.clock, 60) is Outcome.INSISTED
    assert time.now == pytest.approx(1, abs=POLL_INTERVAL_SECONDS)


@given(loads=st.lists(st.sampled_from([BUSY, WAITING, QUIET]), max_size=40))
def test_a_server_never_leaves_while_the_last_reading_was_busy(
    loads: list[Load],
) -> None:
    """Quiet is only ever concluded from quiet readings."""
    time = Time()
    seen: list[Load] = []
    read = readings(loads)

    def observed() -> Load:
        seen.append(read())
        return seen[-1]

    assert drain(observed, time.wait, time.clock, 60) is Outcome.QUIET
    assert seen[-QUIET_READINGS:] == [QUIET] * QUIET_READINGS


def test_the_load_is_read_from_the_servers_metrics() -> None:
    """Comments and metrics with a longer name are not mistaken for the gauges."""
    assert parse_load(METRICS) == Load(processing=2, deferred=1)


def test_metrics_without_the_gauges_are_an_error() -> None:
    """A server that cannot tell its load could never be drained."""
    with pytest.raises(InvalidInputError, match="requests_deferred"):
        parse_load("llamacpp:requests_processing 0\n")
