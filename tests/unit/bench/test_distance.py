"""When the time of guesses tells their kinds apart, and when it is chance."""

import math
import random

import pytest

from bench_distance import Distance, cut, distances, noise

ROUNDS = 500
PLACEMENT_NS = 40.0
"""What the memory of a guess does to its time, as a deviation."""

RUNS = 100


def times(seed: int, **shifts: float) -> dict[str, list[float]]:
    """Return times of a base kind and of one for each shift: pace, memory, and rare intrusions."""
    lot = random.Random(seed)  # noqa: S311 - repeatable
    made: dict[str, list[float]] = {kind: [] for kind in ("base", *shifts)}
    for _ in range(ROUNDS):
        pace = lot.uniform(2500, 3500)
        for kind, mine in made.items():
            intrusion = 50_000 if lot.random() < 0.01 else 0
            mine.append(pace + lot.gauss(shifts.get(kind, 0), PLACEMENT_NS) + intrusion)
    return made


def told(rows: list[Distance]) -> set[str]:
    """Return the kinds that are told from the first."""
    return {row.kind for row in rows if row.is_told}


def test_equal_kinds_are_told_from_each_other_in_less_than_one_run_in_a_hundred() -> None:
    """For all four together, whatever memory and intrusions do."""
    runs = [told(distances(times(seed, a=0, b=0, c=0, d=0))) for seed in range(RUNS)]

    assert sum(map(bool, runs)) <= RUNS / 100


@pytest.mark.parametrize("shift", [-20.0, 20.0, 1500.0])
def test_a_kind_that_is_shifted_by_more_than_chance_is_told(shift: float) -> None:
    """In every run, whichever way it is shifted; the kind that is equal is not told beside it."""
    runs = [told(distances(times(seed, equal=0, shifted=shift))) for seed in range(20)]

    assert runs == [{"shifted"}] * 20


def test_more_rounds_show_a_smaller_shift() -> None:
    """Noise goes down with the square root of their number."""
    few, many = ([3.0, -3.0] * count for count in (50, 5000))

    assert noise(few, 0.01) == pytest.approx(10 * noise(many, 0.01))


def test_chance_gets_no_further_than_its_bound() -> None:
    """Signs drawn by lot reach it no more often than is said."""
    lot = random.Random(1)  # noqa: S311 - repeatable
    sizes = [lot.expovariate(1 / 30) for _ in range(100)]
    bound = noise(sizes, 0.05)
    means = (
        math.fsum(size * lot.choice((-1, 1)) for size in sizes) / len(sizes) for _ in range(1000)
    )

    assert sum(abs(mean) > bound for mean in means) <= 50


def test_a_few_rounds_can_tell_nothing() -> None:
    """However large the difference: all signs equal is what chance does with a handful."""
    rows = distances({"base": [0.0] * 5, "far": [1000.0] * 5})

    assert told(rows) == set()


def test_what_is_allowed_is_not_told_but_stands_in_the_row() -> None:
    """And beyond what is allowed it is told."""
    of_run = times(1, unknown=50)

    (_, within) = distances(of_run, {"unknown": 100.0})
    (_, beyond) = distances(of_run, {"unknown": 20.0})

    assert within.difference_ns == pytest.approx(50, abs=10)
    assert not within.is_told
    assert beyond.is_told


def test_an_intrusion_counts_no_more_than_what_is_usual() -> None:
    """Its sign stays, since signs are what chance is about."""
    assert cut([*range(1, 10), -1000]) == [1, 2, 3, 4, 5, 6, 7, 8, 9, -9]


def test_rounds_that_do_not_belong_together_are_refused() -> None:
    """A difference is one of the same round."""
    with pytest.raises(ValueError, match="zip"):
        distances({"base": [1.0], "other": [1.0, 2.0]})
