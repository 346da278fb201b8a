"""What this machine has: platform, memory, disk, the library that the model server needs.

The questions are asked here and answered in numbers; every check that fails says in one sentence what
is missing, what was found and what to do.
"""

import ctypes
import os
import platform
import shutil
import sys
from pathlib import Path

from privatellm_local.errors import MachineError

MEBIBYTE = 1024 * 1024
GIBIBYTE = 1024 * MEBIBYTE

RUN_MEMORY_BYTES = 1280 * MEBIBYTE
"""The environment at rest (about 650 MB) and one small model server."""

RUN_DISK_BYTES = GIBIBYTE
"""Cluster data, logs and one small model."""

BUILD_MEMORY_BYTES = 2560 * MEBIBYTE
"""Linking kube-apiserver while a second package compiles."""

MACHINES = {"x86_64", "aarch64"}
"""Machines that all the binary packages exist for."""


def require_linux() -> None:
    """Refuse platforms that lack what the environment stands on.

    Raises:
        MachineError: naming the platform and the alternative.
    """
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        raise MachineError(
            f"The embedded environment needs Linux on x86-64 or arm64, this is {platform.system()} on "
            f"{platform.machine()}: use kind and the Helm chart instead."
        )


def require_openmp() -> None:
    """Refuse to start without the OpenMP library, which llama.cpp's wheel does not bring.

    Raises:
        MachineError: with the line that installs it.
    """
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError as error:
        raise MachineError(
            "The model server needs libgomp, which is not installed: `apt-get install libgomp1` "
            "(Debian, Ubuntu) or `dnf install libgomp` (Fedora)."
        ) from error


def require_memory(needed_bytes: int, purpose: str) -> None:
    """Refuse to start something that would be killed for lack of memory.

    Raises:
        MachineError: with what is needed and what is there.
    """
    available = available_memory()
    if available < needed_bytes:
        raise MachineError(
            f"{purpose} needs {_size(needed_bytes)} of free memory, {_size(available)} are there: "
            "close other programs or use a larger machine."
        )


def require_disk(directory: Path, needed_bytes: int, purpose: str) -> None:
    """Refuse to start something that would fill the disk.

    Args:
        directory: Where it will write; it need not exist yet.
        needed_bytes: How much it will write.
        purpose: What it is, as the beginning of a sentence.

    Raises:
        MachineError: with what is needed and what is there.
    """
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed_bytes:
        raise MachineError(
            f"{purpose} needs {_size(needed_bytes)} of free disk space at {directory}, "
            f"{_size(free)} are there: free some space or choose another place."
        )


def available_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many bytes could be used without swapping, within the limits of our control group."""
    lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    facts = dict(line.split(":", 1) for line in lines)
    available = int(facts["MemAvailable"].split()[0]) * 1024
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    return available if limit is None else min(available, max(0, limit - (used or 0)))


def total_memory() -> int:
    """Return the size of the machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None  # No control group, or one of the first generation.
    return int(text) if text.isdigit() else None


def _size(count: int) -> str:
    return f"{count / GIBIBYTE:.1f} GiB"
