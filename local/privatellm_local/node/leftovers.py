"""Processes that outlived an agent.

A killed agent takes the leaders of its containers with it, but not their children. Every container
carries a variable that names the node's root directory, so the next agent finds what is left in
``/proc`` and ends it before it starts anything on the same addresses.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARKER = "PRIVATE_LLM_HOST_NODE"
"""Variable of every container; its value is the node's root directory."""


def sweep(root_dir: Path, proc: Path = Path("/proc")) -> list[int]:
    """Kill every process that an earlier agent of this root directory left, and return their ids."""
    found = list(_marked(f"{MARKER}={root_dir}".encode(), proc))
    for pid in found:
        # It may end by itself between being seen and being killed.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def _marked(marker: bytes, proc: Path) -> Iterator[int]:
    own = os.getpid()
    for entry in proc.iterdir():
        if entry.name.isdigit() and int(entry.name) != own and marker in _environment(entry):
            yield int(entry.name)


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # It has ended, or it belongs to somebody else.
