"""What answers of the API server say about our clock."""

from email.utils import formatdate

import pytest

from privatellm.kube.server_clock import ServerClock

NOON = 1_796_040_000.0
HEADER = "Mon, 30 Nov 2026 12:00:00 GMT"


def test_nothing_is_known_before_an_answer() -> None:
    """An unknown difference is not a difference of zero."""
    assert ServerClock().seconds_ahead is None


@pytest.mark.parametrize("difference", [-90.0, 0.0, 0.25, 3600.0])
def test_a_clock_is_compared_with_the_middle_of_the_second_that_was_named(
    difference: float,
) -> None:
    """The header's whole second was cut, not rounded."""
    clock = ServerClock(lambda: NOON + 0.5 + difference)

    clock.note(HEADER)

    assert clock.seconds_ahead == difference


@pytest.mark.parametrize("nonsense", [None, "", "yesterday", "Mon, 99 Nov 2026 12:00:00 GMT"])
def test_nonsense_is_no_news(nonsense: str | None) -> None:
    """A proxy may drop or spoil the header."""
    clock = ServerClock(lambda: NOON + 0.5)
    clock.note(HEADER)

    clock.note(nonsense)

    assert clock.seconds_ahead == 0


class Clocks:
    """A wall clock that somebody may set, and one that only counts seconds."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.step = 0.0

    def wall(self) -> float:
        """Return the time of day."""
        return NOON + 0.5 + self.passed + self.step

    def steady(self) -> float:
        """Return the seconds since the machine was started."""
        return 100.0 + self.passed

    def header(self) -> str:
        """Return what the API server says."""
        return formatdate(NOON + self.passed, usegmt=True)


def test_a_clock_that_is_right_is_believed() -> None:
    """Before any answer there is no other one."""
    clocks = Clocks()
    clock = ServerClock(clocks.wall, clocks.steady)

    assert clock.time() == clocks.wall()
    clock.note(clocks.header())
    clocks.passed, clocks.step = 7.0, 0.25
    clock.note(clocks.header())
    assert clock.time() == clocks.wall()


@pytest.mark.parametrize("step", [-7200.0, 7200.0])
def test_a_clock_that_is_set_changes_no_time(step: float) -> None:
    """Neither before the next answer nor after it."""
    clocks = Clocks()
    clock = ServerClock(clocks.wall, clocks.steady)
    clock.note(clocks.header())

    clocks.step = step
    for passed in (0.0, 3.0, 60.0):
        clocks.passed = passed
        assert clock.time() == NOON + 0.5 + passed
        clock.note(clocks.header())
        assert clock.time() == NOON + 0.5 + passed
    assert clock.seconds_ahead == step


@pytest.mark.parametrize("step", [-7200.0, 7200.0])
def test_a_process_that_starts_by_a_wrong_clock_is_right_after_one_answer(step: float) -> None:
    """To half a second, and without jumping about by the next answers."""
    clocks = Clocks()
    clocks.step = step
    clock = ServerClock(clocks.wall, clocks.steady)

    assert clock.time() == NOON + 0.5 + step
    clock.note(clocks.header())
    assert clock.time() == NOON + 0.5
    clocks.passed = 0.75
    clock.note(formatdate(NOON, usegmt=True))
    assert clock.time() == NOON + 1.25


def test_an_api_server_whose_clock_is_set_is_followed() -> None:
    """It writes the times that everybody counts from."""
    clocks = Clocks()
    clock = ServerClock(clocks.wall, clocks.steady)
    clock.note(clocks.header())

    clock.note(formatdate(NOON + 600, usegmt=True))

    assert clock.time() == NOON + 600.5
