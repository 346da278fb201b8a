"""The pages for bad days cover what can go wrong, and the page of threats names what exists."""

import re

import yaml

from docs_pages import DOCS, ROOT, Page
from privatellm_operator.reference.conditions import reasons

TROUBLESHOOT = Page(DOCS / "how-to" / "troubleshoot.md")
MONITOR = Page(DOCS / "how-to" / "monitor.md")
SECURITY = Page(DOCS / "explanation" / "security-model.md")
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


def test_every_alert_is_explained() -> None:
    """And no other one."""
    rules = yaml.safe_load((ROOT / "charts/private-llm-operator/files/alerts.yaml").read_text())
    real = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}

    assert {span for span in MONITOR.spans() if span.startswith("PrivateLLM")} == real


def test_every_threat_names_the_files_that_answer_it() -> None:
    """By paths from the repository's root; at least one a row, and all of them exist."""
    table = SECURITY.text.partition("## Threats and answers")[2].partition("\n## ")[0]
    rows = [row for row in _ROW.finditer(table) if "`" in row["rest"]]
    named = {row["concept"]: _FILE.findall(row["rest"]) for row in rows}

    assert len(named) > 15
    assert [concept for concept, files in named.items() if not files] == []
    assert [f for files in named.values() for f in files if not (ROOT / f).exists()] == []
