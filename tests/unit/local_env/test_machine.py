import ctypes
import platform
import sys
from pathlib import Path

import pytest

from privatellm_local import machine
from privatellm_local.errors import MachineError


def _facts(tmp_path: Path, *, available_kib: int, limit: str = "max", used: int = 0) -> Path:
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available_kib} kB\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [("max", 0, 4096 * 1024), ("1000", 400, 600), ("1000", 2000, 0)],
    ids=["no limit", "a limit with room", "a limit that is exceeded"],
)
def test_available_memory_respects_the_control_group(
    tmp_path: Path, limit: str, used: int, expected: int
) -> None:
    """A container has less than its machine."""
    facts = _facts(tmp_path, available_kib=4096, limit=limit, used=used)

    assert machine.available_memory(facts, facts) == expected


def test_a_machine_without_control_groups_counts_as_unlimited(tmp_path: Path) -> None:
    """The files of the second generation need not exist."""
    facts = _facts(tmp_path, available_kib=1)

    assert machine.available_memory(facts, tmp_path / "absent") == 1024


def test_too_little_memory_is_explained_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed, what is there, what to do."""
    monkeypatch.setattr(machine, "available_memory", lambda: machine.GIBIBYTE // 2)

    with pytest.raises(MachineError) as caught:
        machine.require_memory(machine.GIBIBYTE, "Building")

    assert str(caught.value).startswith("Building needs 1.0 GiB of free memory, 0.5 GiB are there:")


def test_too_little_disk_is_explained_for_a_place_that_does_not_exist_yet(tmp_path: Path) -> None:
    """The nearest existing directory is asked."""
    with pytest.raises(MachineError, match=r"of free disk space at .*/a/b, "):
        machine.require_disk(tmp_path / "a" / "b", 2**62, "The environment")


def test_a_missing_openmp_library_comes_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """llama.cpp's wheel does not bring it."""

    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)

    with pytest.raises(MachineError, match="apt-get install libgomp1"):
        machine.require_openmp()


@pytest.mark.parametrize(("system", "processor"), [("darwin", "x86_64"), ("linux", "riscv64")])
def test_other_platforms_are_named_with_the_alternative(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str
) -> None:
    """Nobody is left with a stack trace of a missing system call."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)

    with pytest.raises(MachineError, match=r"needs Linux.*kind and the Helm chart"):
        machine.require_linux()
