"""The newcomer's door in a fresh clone, with a real installation."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import docs_shell
import embedded
from docs_pages import ROOT

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(45 * 60)]


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """What is committed or about to be, without anything that was built or installed."""
    kept = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(kept, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    directory = tmp_path / "private-llm"
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    yield directory
    embedded.stop(embedded.Environment(tmp_path / "state" / "private-llm"))
    shutil.rmtree(directory)


def test_make_demo_installs_starts_and_answers(clone: Path, tmp_path: Path) -> None:
    """With nothing but Python, make and the package index; done twice it installs once."""
    home = tmp_path / "state"

    first = docs_shell.typed(
        "make demo", home, timeout=embedded.UP_DEADLINE_SECONDS, directory=clone
    )
    again = docs_shell.typed("make demo", home, timeout=300, directory=clone)

    assert "Answer:   Paris." in first
    assert (clone / ".venv" / "bin" / "kubectl-llm").exists()
    assert "already running" in again
