"""What every bench says of the machine that it ran on, and what a process cost there."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def described() -> dict[str, Any]:
    """Return day, Python, processor and load, for a bench's JSON."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "loadAverage": os.getloadavg(),
    }


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
