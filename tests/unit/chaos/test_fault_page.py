"""The page of faults has exactly the faults that the suite plays."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "tests" / "chaos"
NAME = re.compile(r'(?:stage\.fault\(|_killed\(stage, [\w"-]+, )\s*"([^"]+)"')


def _played() -> list[str]:
    sources = sorted(SUITE.glob("test_*.py"))
    return [name for source in sources for name in NAME.findall(source.read_text())]


def _told() -> list[str]:
    text = (ROOT / "docs" / "reference" / "faults.md").read_text()
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if "| " in line]
    return [row for row in rows if row != "fault"]


def test_every_fault_is_on_the_page_and_no_other_one() -> None:
    """A page of an older suite is to be made anew by a run of the whole."""
    assert sorted(_told()) == sorted(_played())


def test_every_test_of_the_suite_plays_a_fault() -> None:
    """Otherwise a name might be written in a way that is not found here."""
    tests = [
        name
        for source in SUITE.glob("test_*.py")
        for name in re.findall(r"^async def (test_\w+)", source.read_text(), re.MULTILINE)
    ]
    assert len(tests) == len(_played())
