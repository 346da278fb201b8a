"""What a bench tells of its machine: enough to judge figures by, and not whose machine it was."""

import platform

from bench_machine import described, told


def test_the_machine_is_told() -> None:
    """Processor, memory, kernel, Python and what else it did."""
    told = described()

    assert told.keys() >= {"processor", "memoryGB", "kernel", "python", "cores", "loadAverage"}
    assert all(told.values())
    assert told["memoryGB"] >= 1


def test_nobody_learns_whose_machine_it_was() -> None:
    """A host's name says nothing about its speed."""
    assert platform.node() not in map(str, described().values())


def test_a_page_names_the_machine_of_its_figures() -> None:
    """Pages of measurements and of faults do it alike, so that one can be held beside the other."""
    machine = {**described(), "processor": "Some Model", "memoryGB": 16, "kernel": "Linux 6.12.1"}

    sentence = told(machine, "from 2 to 10")

    assert "cores of Some Model, 16 GB, Linux 6.12.1, Python 3" in sentence
    assert sentence.endswith("load average from 2 to 10.*")
