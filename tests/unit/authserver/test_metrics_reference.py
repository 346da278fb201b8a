"""The reference page of the metrics says what the service exposes, no more and no less."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from privatellm_authserver import clocks
from privatellm_authserver.answers import DENIALS
from privatellm_authserver.decision import Reason
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import FleetCollector
from privatellm_authserver.reports import ALLOWED_LABEL

PAGE = Path(__file__).parents[3] / "docs/reference/authserver-metrics.md"


def rows() -> dict[str, list[str]]:
    """Return the cells of the page's tables by what their first cell names."""
    lines = (line for line in PAGE.read_text().splitlines() if line.startswith("| `"))
    cells = ([cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines)
    return {first: rest for first, *rest in cells}


def test_every_metric_is_on_the_page_with_its_type() -> None:
    """Names as a scrape shows them."""
    registry = CollectorRegistry()
    registry.register(FleetCollector(Fleet(1), clocks.uptime))
    exposed = dict(
        re.findall(r"^# TYPE (\S+) (\S+)$", generate_latest(registry).decode(), re.MULTILINE)
    )

    documented = {name: row[0] for name, row in rows().items() if name.startswith("private_llm_")}

    assert documented == exposed


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_on_the_page_with_its_answer(reason: Reason) -> None:
    """Status and error code of each denial."""
    denial = DENIALS[reason]

    assert rows()[reason.value][:2] == [str(int(denial.status)), denial.code]


def test_the_page_knows_no_other_reason() -> None:
    """A renamed reason must not leave its old row behind."""
    reasons = {name for name in rows() if not name.startswith("private_llm_")}

    assert reasons == {ALLOWED_LABEL, *(reason.value for reason in Reason)}
