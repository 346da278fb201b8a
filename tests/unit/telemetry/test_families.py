"""What is declared is what the programs expose, no more and no less."""

import re
from pathlib import Path

import pytest

from privatellm.telemetry.families import PARTS, Family, FamilyType, Part
from privatellm.telemetry.families.authserver import ANSWERS
from privatellm.telemetry.reference import metrics_page
from privatellm_authserver.answers import DENIALS
from privatellm_authserver.decision import Reason
from privatellm_authserver.reports import ALLOWED_LABEL
from telemetry_parts import EXPOSITIONS, samples, types

FAMILIES = tuple(family for part in PARTS for family in part.families)
OF_A_PROCESS = re.compile("(process|python)_")
PAGE = Path(__file__).parents[3] / "docs/reference/metrics.md"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_exposes_exactly_its_families(part: Part) -> None:
    """By name and type, as a scrape shows them."""
    declared = {family.name: family.type.value for family in part.families}
    exposed = types(EXPOSITIONS[part.name]())

    assert {name: exposed[name] for name in exposed if not OF_A_PROCESS.match(name)} == declared


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_exposes_what_its_process_needs(part: Part) -> None:
    """As the page says of each of them."""
    exposed = types(EXPOSITIONS[part.name]())

    assert exposed.keys() >= {
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "python_gc_collections_total",
        "python_info",
    }


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_series_has_the_declared_labels(part: Part) -> None:
    """And every family shows at least one series, so that none is declared in vain."""
    found = samples(EXPOSITIONS[part.name]())

    for family in part.families:
        series = [sample for sample in found if sample.name in family.series]
        assert series, family.name
        for sample in series:
            assert set(sample.labels) - {"le"} == set(family.label_names), sample


def test_no_two_parts_share_a_name() -> None:
    """A query by name would add up different things."""
    names = [name for family in FAMILIES for name in family.series]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_keeps_the_conventions_of_prometheus(family: Family) -> None:
    """Counters end in ``_total`` and nothing else does; times are in seconds; buckets ascend."""
    assert family.name.endswith("_total") is (family.type is FamilyType.COUNTER)
    assert re.fullmatch(r"(private_llm|sync_agent)_[a-z_]+", family.name)
    assert family.text.endswith(".")
    assert list(family.buckets) == sorted(set(family.buckets))
    assert bool(family.buckets) is (family.type is FamilyType.HISTOGRAM)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_label_says_what_bounds_it(family: Family) -> None:
    """Values that the code lists, or objects that the series vanish with."""
    for label in family.labels:
        assert re.search(r"`|vanish|are there|pod has|kinds that", label.values), label
        assert label.name not in {"key_id", "token", "path", "user"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_label_has_the_name_of_one_that_prometheus_adds(family: Family) -> None:
    """Prometheus would rename ours to ``exported_*``, and queries would find nothing."""
    assert not set(family.label_names) & {"namespace", "instance", "pod", "job", "service", "le"}


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_described_with_its_answer(reason: Reason) -> None:
    """Status and error code of each denial are those that the service gives."""
    (answer,) = [answer for answer in ANSWERS if answer.reason == reason.value]
    denial = DENIALS[reason]

    assert (answer.status, answer.code) == (int(denial.status), denial.code)


def test_no_other_reason_is_described() -> None:
    """A renamed reason must not leave its old row behind."""
    assert {answer.reason for answer in ANSWERS} == {
        ALLOWED_LABEL,
        *(reason.value for reason in Reason),
    }


def test_the_page_names_every_metric_once() -> None:
    """It is generated, and the shipped one is the generated one."""
    page = metrics_page()

    for family in FAMILIES:
        assert page.count(f"| `{family.name}` |") == 1
    assert PAGE.read_text() == page
