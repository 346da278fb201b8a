"""The fragments become the changelog of a release, by the program that writes it."""

import shutil
import subprocess
import sys
from pathlib import Path

from privatellm_local.packaging.delivery.changelog import notes_of

ROOT = Path(__file__).parents[3]
TYPES = ("breaking", "feature", "fix", "security", "docs")


def test_every_fragment_has_a_type() -> None:
    """One without would be left out of every release, silently."""
    fragments = [
        p for p in (ROOT / "changelog.d").iterdir() if p.name not in {"README.md", ".gitignore"}
    ]

    for fragment in fragments:
        assert fragment.suffixes[-2] in {f".{name}" for name in TYPES}, fragment.name
        assert fragment.suffix == ".md", fragment.name


def test_every_fragment_is_told_at_the_release(tmp_path: Path) -> None:
    """And what a release publishes as its notes is exactly what was assembled."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    fragments = [p.read_text() for p in (tmp_path / "changelog.d").glob("*.*.md")]
    assert fragments

    towncrier = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9"]
    subprocess.run(
        [*towncrier, "--dir", str(tmp_path)], cwd=tmp_path, check=True, capture_output=True
    )

    notes = notes_of((tmp_path / "CHANGELOG.md").read_text(), "9.9.9")
    for fragment in fragments:
        assert " ".join(fragment.split()[:8]) in " ".join(notes.split())
