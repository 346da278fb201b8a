"""What every bench says of the machine that it ran on, and what processes cost there."""

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def described() -> dict[str, Any]:
    """Return day, machine, system, Python and load, for a bench's JSON; not whose machine it is."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "memoryGB": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        # The version alone: what distributions append to it names builds, and sometimes hosts.
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "cores": len(os.sched_getaffinity(0)),
        "loadAverage": os.getloadavg(),
    }


def told(figures: Mapping[str, Any], load: str) -> str:
    """Return the sentence with which a page names the machine of its figures.

    Args:
        figures: What a run left as JSON, with all of :func:`described`.
        load: The load average, in words.
    """
    return (
        f"*{figures['date'][:10]}, {figures['cores']} cores of {figures['processor']}, "
        f"{figures['memoryGB']} GB, {figures['kernel']}, Python {figures['python']}, load average {load}.*"
    )


def processor() -> str:
    """Return the processor's model; its architecture where the kernel does not tell the model."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def running_seconds(pid: int) -> float:
    """Return the processor time of a process's threads to the nanosecond, where ticks are too coarse."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text(encoding="utf-8").split()[0]) for one in threads) / 1e9


def memory_mb(pid: int) -> float:
    """Return the memory of a process; pages that it shares count by its share of them (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def children(pid: int) -> dict[int, str]:
    """Return the processes that a process has started, with the names of their programs."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="utf-8").split():
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            found[int(child)] = Path(command[0].decode()).name
    return found


def family(pid: int) -> Iterable[int]:
    """Yield a process and all that descend from it."""
    yield pid
    for child in children(pid):
        yield from family(child)
