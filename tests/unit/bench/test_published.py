"""The page that is published: complete, and within what is promised for what ships."""

import re
from pathlib import Path

from bench_page import SECTIONS
from privatellm_authserver.settings import Settings

PAGE = (Path(__file__).parents[3] / "docs/reference/measurements.md").read_text(encoding="utf-8")
WORKERS = Settings.model_fields["workers"].default
PROMISED_MB = 200
HEADINGS = {
    "verify.json": "The check of a key",
    "check-memory.json": "The ForwardAuth service at rest",
    "edge.json": "Through the edge, beside LiteLLM",
    "tracing.json": "What metrics and traces cost the check",
    "near-miss.json": "What the time of a refusal tells",
    "revocation.json": "From a deletion to the last 401",
    "reconcile.json": "100 instances",
    "reconcile-1000.json": "1000 instances",
    "growth.json": "One more instance in a growing world",
    "sync.json": "The sync agent",
}
"""What each bench's section is called."""


def section(heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level."""
    (found,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_every_bench_has_its_section_on_the_page() -> None:
    """A bench whose figures were not there when the page was made would go unnoticed."""
    assert HEADINGS.keys() == SECTIONS.keys()
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == [HEADINGS[name] for name in SECTIONS]


def test_memory_was_measured_with_the_workers_that_ship() -> None:
    """And with one more beside them; the default keeps its promise with 100 000 keys."""
    told = section(HEADINGS["check-memory.json"])
    rows = re.findall(r"^\| 100000 \| (\d+) \| (\d+) \|", told, re.MULTILINE)
    measured = {int(workers): int(memory) for workers, memory in rows}

    assert f"there are {WORKERS} by default" in told
    assert measured.keys() == {WORKERS, WORKERS + 1}
    assert measured[WORKERS] < PROMISED_MB
