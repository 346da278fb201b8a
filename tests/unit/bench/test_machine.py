"""What a bench tells of its machine: enough to judge figures by, and not whose machine it was."""

import platform

from bench_machine import described


def test_the_machine_is_told() -> None:
    """Processor, memory, kernel, Python and what else it did."""
    told = described()

    assert told.keys() >= {"processor", "memoryGB", "kernel", "python", "cores", "loadAverage"}
    assert all(told.values())
    assert told["memoryGB"] >= 1


def test_nobody_learns_whose_machine_it_was() -> None:
    """A host's name says nothing about its speed."""
    assert platform.node() not in map(str, described().values())
