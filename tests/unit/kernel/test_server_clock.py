"""What answers of the API server say about our clock."""

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
