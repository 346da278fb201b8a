"""A reader's shell: commands typed as the documentation prints them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from docs_pages import ROOT


def typed(lines: str, state_home: Path, *, timeout: float, directory: Path = ROOT) -> str:
    """Type lines into one shell that stops at the first that fails, and return what they print.

    Args:
        lines: As a page prints them, without prompts.
        state_home: Where the default state directory is.
        timeout: How long all of them may take, in seconds.
        directory: The reader's clone.
    """
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=directory,
        env=_variables() | {"XDG_STATE_HOME": str(state_home), "PYTHON": _base_python()},
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def comparable(line: str) -> str:
    """Return a line without what differs from run to run: addresses, places, ages and widths."""
    without_urls = re.sub(r"https?://\S+", "URL", line)
    without_places = re.sub(r"(?<=\s)/\S+", "PLACE", without_urls)
    return " ".join(re.sub(r"\b(\d+m)?\d+s\b", "AGE", without_places).split())


def _variables() -> dict[str, str]:
    """Return the variables of a shell that nobody has prepared, outside of any `make`."""
    set_by_us = ("KUBECONFIG", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    return {name: text for name, text in os.environ.items() if name not in set_by_us}


def _base_python() -> str:
    """Return the Python that this environment was made with, as a newcomer's `python3` is."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
