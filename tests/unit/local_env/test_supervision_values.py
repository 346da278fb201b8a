"""The parts of the supervisor that only calculate."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.processes import logs
from privatellm_local.processes.backoff import (
    LONGEST_DELAY_SECONDS,
    STABLE_AFTER_SECONDS,
    Backoff,
)
from privatellm_local.processes.supervisor import inherited


def test_pauses_double_up_to_a_bound() -> None:
    """A component that cannot start does not keep the machine busy."""
    backoff, delays = Backoff(), []
    for _ in range(9):
        backoff = backoff.after_run(0)
        delays.append(backoff.delay)

    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@given(st.integers(min_value=0, max_value=10**6))
def test_no_number_of_failures_makes_the_pause_longer_than_the_bound(failures: int) -> None:
    """Nor does it overflow."""
    assert 0 < Backoff(failures).delay <= LONGEST_DELAY_SECONDS


def test_a_long_run_forgives_earlier_failures() -> None:
    """What ran for a while had a fresh problem."""
    assert Backoff(9).after_run(STABLE_AFTER_SECONDS) == Backoff(1)


def test_components_do_not_inherit_the_users_secrets() -> None:
    """Only what programs need to find their way."""
    user = {"PATH": "/bin", "HOME": "/home/a", "AWS_SECRET_ACCESS_KEY": "x", "KUBECONFIG": "mine"}

    assert inherited(user) == {"PATH": "/bin", "HOME": "/home/a"}


def test_the_tail_of_a_log_is_its_last_words_since_the_start(tmp_path: Path) -> None:
    """Earlier runs are not quoted."""
    log = tmp_path / "log"
    log.write_text("old failure\n")
    offset = logs.size(log)
    with log.open("a") as stream:
        stream.write("first\n\nsecond\n   \n")

    assert logs.tail(log, since=offset) == ["second"]
    assert logs.tail(log, 5, since=offset) == ["first", "second"]
    assert logs.tail(tmp_path / "absent") == []


def test_a_truncated_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    """An offset from before a rotation means nothing any more."""
    log = tmp_path / "log"
    log.write_text("new\n")

    assert logs.tail(log, since=10_000) == ["new"]


@pytest.mark.parametrize("size", [logs.LARGEST_LOG_BYTES, logs.LARGEST_LOG_BYTES + 1])
def test_a_log_that_has_grown_too_large_is_put_aside(tmp_path: Path, size: int) -> None:
    """The writer keeps its open file."""
    log, aside = tmp_path / "etcd.log", tmp_path / "etcd.log.1"
    with log.open("wb") as stream:
        stream.truncate(size)

    logs.rotate(log)

    assert aside.exists() == (size > logs.LARGEST_LOG_BYTES)
    assert logs.size(log) == (0 if aside.exists() else size)
