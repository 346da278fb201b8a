"""Figures and habits that pages repeat are those of the code, the chart and the measurements."""

import re

from docs_pages import DOCS, ROOT, Page, pages
from privatellm.telemetry.families import operator
from privatellm.telemetry.families.family import families_of
from privatellm_local.packaging.values import Values
from privatellm_operator.render.quantities import parse_quantity

MEBIBYTE = 2**20
ROOM = 1.5
"""How much more than the operator at rest its limit leaves, as the page promises."""


def memory_of_the_operator() -> dict[int, float]:
    """Return MiB of the operator at rest by instances, as they were measured."""
    text = (DOCS / "reference" / "measurements.md").read_text()
    section = text.partition("### Every part at rest\n")[2]
    sizes, operator_row = (
        re.findall(rf"^\| {name} \| (.*) \|$", section, re.MULTILINE)[0].split(" | ")
        for name in ("part", "operator")
    )
    return {
        int(size): float(cell.partition(",")[0])
        for size, cell in zip(sizes, operator_row, strict=True)
    }


def advised_memory() -> dict[int, tuple[str, str]]:
    """Return the advised request and limit by the number of instances that they are for."""
    text = (DOCS / "how-to" / "size-models.md").read_text()
    section = text.partition("## What the operator needs\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \|$", section, re.MULTILINE)
    return {int(instances): (request, limit) for instances, request, limit in rows}


def test_the_operators_advised_memory_covers_what_was_measured() -> None:
    """At rest by the request, and half as much again by the limit; for every size of the bench."""
    advised = advised_memory()
    measured = memory_of_the_operator()

    assert max(measured) == max(advised)
    for size, used in measured.items():
        request, limit = advised[min(bound for bound in advised if bound >= size)]
        assert parse_quantity(request) >= used * MEBIBYTE
        assert parse_quantity(limit) >= ROOM * used * MEBIBYTE


def test_the_smallest_advice_is_what_the_chart_sets() -> None:
    """So nobody below it has anything to do."""
    resources = Values.model_fields["operator"].default.resources
    advised = advised_memory()

    assert advised[min(advised)] == (resources.requests["memory"], resources.limits["memory"])


def test_the_pages_count_the_series_of_an_instance() -> None:
    """And the one of a request, from what the operator declares."""
    labels = [set(family.label_names) for family in families_of(operator)]
    of_a_request = sum("llm_token_request" in names for names in labels)
    of_an_instance = sum("llm_instance" in names for names in labels) - of_a_request
    monitor, usage = (
        " ".join(Page(DOCS / "how-to" / name).text.split())
        for name in ("monitor.md", "measure-usage.md")
    )

    told = f"an instance has {of_an_instance} of its own and an APITokenRequest has {of_a_request},"
    assert told in monitor
    assert (
        f"{of_a_request} for each APITokenRequest and {of_an_instance} for each LLMInstance"
        in usage
    )


def test_no_page_upgrades_a_release_with_the_old_defaults() -> None:
    """``--reuse-values`` keeps them, and knows none of the new values."""
    faults = [
        f"{page.name}: {line}"
        for page in pages()
        for line in page.command_lines()
        if "--reuse-values" in line.split()
    ]

    assert faults == []


def test_the_map_for_contributors_has_every_command() -> None:
    """All that ``make help`` lists but itself."""
    listed = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    spans = set(Page(ROOT / "CONTRIBUTING.md").spans())

    assert {name for name in listed if f"make {name}" not in spans} == {"help"}
