"""The page of promises and reports names tests that exist, and every test that is about a report."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs/reference/sync-agent-tests.md"

REPORT = re.compile(r"(?:(?:SA|MP|kcp|helm-charts)(?: PR)?#\d+|6b\.[A-M])\b")
NAMED = re.compile(r"`((?:unit|contract|integration)/\S+\.py)::(test_\w+)`")

MUST_BE_ANSWERED = frozenset(
    [
        *(
            f"SA#{number}"
            for number in (
                13,
                20,
                34,
                35,
                41,
                85,
                99,
                114,
                115,
                116,
                118,
                126,
                130,
                172,
                173,
                174,
                182,
            )
        ),
        *(f"SA PR#{number}" for number in (62, 139, 176)),
        *(
            f"kcp#{number}"
            for number in (1353, 1964, 2041, 2671, 3364, 3625, 3681, 3803, 3830, 3840, 3855)
        ),
        *("kcp PR#434", "MP#61", "MP#80", "helm-charts#233"),
        *(f"6b.{letter}" for letter in "ABCDEFGHIJKLM"),
    ]
)
"""The reports that apply to an agent of this kind."""


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield what each row of the page is about, with the file and the name of its test."""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and "::" in line:
            about = line.split("|")[1].strip()
            [(file, name)] = NAMED.findall(line)
            yield about, file, name


@cache
def docstrings(file: str) -> dict[str, str]:
    """Return the names of a file's tests, each with what its docstring and its comments say."""
    source = (TESTS / file).read_text()
    lines = source.splitlines()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if isinstance(node, functions) and node.name.startswith("test_")
    }


def test_a_promise_is_held_by_a_test_that_exists() -> None:
    """Under the name that the page gives, and about the report of its row."""
    for about, file, name in rows():
        assert name in docstrings(file), f"{file} has no {name}, which holds: {about}"
        for report in REPORT.findall(about):
            assert report in docstrings(file)[name], f"{file}::{name} does not name {report}"


def test_every_report_that_applies_has_its_row() -> None:
    """And no row is about anything else."""
    assert {
        report for about, _, _ in rows() for report in REPORT.findall(about)
    } == MUST_BE_ANSWERED


def test_every_test_about_a_report_is_on_the_page() -> None:
    """Whoever answers another report writes it there."""
    files = [
        f"{path.parent.relative_to(TESTS)}/{path.name}"
        for folder in ("unit/sync_agent", "contract/kcp")
        for path in sorted((TESTS / folder).glob("test_*.py"))
        if path.name != Path(__file__).name
    ]
    said = {
        (report, file, name)
        for file in files
        for name, text in docstrings(file).items()
        for report in REPORT.findall(text)
    }
    told = {
        (report, file, name) for about, file, name in rows() for report in REPORT.findall(about)
    }
    assert said <= told
