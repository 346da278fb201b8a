"""The pages for bad days cover what can go wrong, and the page of threats names what exists."""

import re

import yaml

from docs_pages import DOCS, ROOT, Page, pages
from privatellm_operator.reference.conditions import reasons

TROUBLESHOOT = Page(DOCS / "how-to" / "troubleshoot.md")
SECURITY = Page(DOCS / "explanation" / "security-model.md")
MONITOR = "docs/how-to/monitor.md"
ALERT = r"PrivateLLM[A-Z]\w+"
FINE = {
    *("Accepted", "Fetched", "Programmed", "Ready", "KeyReady"),
    *("Declared", "Recorded"),
}
"""Reasons that nobody looks up, because all is well."""

_ROW = re.compile(r"^\| (?P<concept>[^|]+) \| (?P<rest>.*) \|$", re.MULTILINE)
_FILE = re.compile(r"`([\w./-]+\.(?:py|yaml|tpl|md)|[\w./-]+/)`")


def test_every_reason_that_means_trouble_has_a_place() -> None:
    """And a page about a reason that is gone would mislead."""
    real = {reason for _, reason, _ in reasons()}
    words = {word for span in TROUBLESHOOT.spans() for word in re.findall(r"\b[A-Z]\w+\b", span)}

    assert real - FINE - words == set()


def test_every_alert_that_a_page_names_exists() -> None:
    """Its runbook is another test's."""
    rules = [yaml.safe_load(path.read_text()) for path in ROOT.glob("charts/*/files/alerts.yaml")]
    real = {rule["alert"] for one in rules for group in one["groups"] for rule in group["rules"]}
    about = [page for page in pages() if page.name == MONITOR or "runbooks" in page.path.parts]
    told = {span for page in about for span in page.spans() if re.fullmatch(ALERT, span)}

    assert told <= real
    assert told


def test_every_threat_names_the_files_that_answer_it() -> None:
    """By paths from the repository's root; at least one a row, and all of them exist."""
    table = SECURITY.text.partition("## Threats and answers")[2].partition("\n## ")[0]
    rows = [row for row in _ROW.finditer(table) if "`" in row["rest"]]
    named = {row["concept"]: _FILE.findall(row["rest"]) for row in rows}

    assert len(named) > 15
    assert [concept for concept, files in named.items() if not files] == []
    assert [f for files in named.values() for f in files if not (ROOT / f).exists()] == []
