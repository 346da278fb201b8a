"""The page of measurements: made from JSON alone, with every chart that it shows."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_page import SECTIONS, page
from bench_pictures import PICTURES

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/measurements.md"
MACHINE = {
    "date": "2026-11-30T13:48:19+00:00",
    "python": "3.11.2",
    "cores": 2,
    "processor": "Some Model",
    "memoryGB": 16,
    "kernel": "Linux 6.12.1",
    "loadAverage": [1.09, 2.06, 3.27],
}
WAY = {
    "requests": 90,
    "errors": 0,
    "stale": 0,
    "per_second": 30.0,
    "p50": 2.0,
    "p99": 9.0,
    "first_p50": 1.0,
    "first_p99": 8.0,
    "cpu": {"part": 0.5},
    "generator": 0.1,
}
REST = {name: {"memory_mb": 90.0, "cpu_share": 0.01} for name in ("operator", "etcd")}
SIZE = {
    "operator_ms": 30.0,
    "direct_ms": 28.0,
    "ratio": 1.1,
    "cpu_ms": 12.0,
    "rest": REST,
    "restart_seconds": 3.0,
    "restart_writes": 0,
    "restart_probe_ms": 40.0,
}
DELAYS = {"p50": 0.01, "p99": 0.02, "longest": 0.03}
IDLE = {"seconds": 60.0, "changed": 0, "requests": {}}
GUESS = {"kind": "wrong last", "ns": 4000, "difference_ns": 0.3, "noise_ns": 1.1}
FIGURES: dict[str, dict[str, Any]] = {
    "verify.json": {
        "connections": 64,
        "spans": 2000,
        "rows": [
            {
                "tokens": count,
                "noise_ratio": 1.002,
                "ratio": 0.9,
                "cpu_ratio": 0.9,
                "growth": 1.0,
                "fastapi_ratio": 2.0,
                "counted_ratio": 0.98,
                "traced_ratio": 0.96,
                "rps": {"check": 9.0, "bare": 10.0, "fastapi": 4.0},
                "cpu_us": {"uncounted": 27.0, "check": 27.5, "traced": 28.0},
                "generator": {"check": 0.7, "bare": 0.94},
                "memory_mb": 70,
                "p99_ms": {"check": 2.0, "bare": 1.0},
            }
            for count in (10, 1000)
        ],
    },
    "check-memory.json": {
        "workers": 1,
        "rows": [
            {"keys": keys, "workers": workers, "memory_mb": 150.0, "cpu_share": 0.002}
            | {"ready_seconds": 2.0}
            for keys, workers in ((1000, 1), (100_000, 1), (100_000, 2))
        ],
    },
    "edge.json": {
        "litellm": "1.2.3",
        "rows": [
            {
                "server": server,
                "kind": kind,
                "connections": connections,
                "ways": {
                    "direct": WAY,
                    "edge": WAY | {"p50": 3.0},
                    "litellm": WAY | {"p50": 32.0, "errors": 1, "cpu": {"LiteLLM": 5.0}},
                },
            }
            for server in ("fast", "real")
            for kind in ("answer", "stream")
            for connections in (1, 64)
        ],
    },
    "revocation.json": {
        "poll_ms": 2,
        "rows": [
            {"way": "verifier", "keys": 9, "per_second": 50, "allowed_after_refusal": 0} | DELAYS
        ],
    },
    "tracing.json": {"rows": [{"mode": "off", "us": 4.0, "added_us": 0.2, "ratio": 1.05}]},
    "near-miss.json": {
        "level": 0.99,
        "rounds": 20_000,
        "look_up_ns": 100.0,
        "visible": [],
        "rows": [GUESS],
        "control": [GUESS | {"difference_ns": 1500.0}],
        "missed": [],
    },
    "reconcile.json": {
        "instances": 100,
        "ratio": 1.1,
        "operator": [3.0],
        "direct": [2.8],
        "restart_seconds": 1.0,
        "restart": IDLE,
        "settled": IDLE,
        "operator_peak_mb": 98.0,
    },
    "growth.json": {
        "batch": 25,
        "rounds": 5,
        "sizes": [SIZE | {"instances": 100}, SIZE | {"instances": 5000}],
    },
    "sync.json": {
        "workspaces": 200,
        "objects": 2000,
        "per_second": 10.0,
        "memory_mb": [80.0, 90.0],
        "down": DELAYS,
        "up": DELAYS,
        "direct": DELAYS,
        "writes": 0,
        "settled_seconds": 60.0,
        "settled_cpu_seconds": 0.3,
    },
}


def everything() -> dict[str, dict[str, Any]]:
    """Return what every bench left, as JSON would bring it back."""
    told: dict[str, dict[str, Any]] = json.loads(
        json.dumps({name: MACHINE | figures for name, figures in FIGURES.items()})
    )
    return told | {"reconcile-1000.json": told["reconcile.json"] | {"instances": 1000}}


def tables(text: str) -> Iterator[list[str]]:
    """Yield the lines of each table."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield block.splitlines()


def test_every_bench_has_a_section_and_its_machine() -> None:
    """The same figures make the same page."""
    text, pictures = page(everything())

    assert (text, pictures) == page(everything())
    assert set(everything()) == set(SECTIONS)
    machine = (
        "*2026-11-30, 2 cores of Some Model, 16 GB, Linux 6.12.1, Python 3.11.2, load average 1.1.*"
    )
    assert text.count("\n## ") == text.count(machine) == len(SECTIONS)


def test_every_row_has_the_columns_of_its_table() -> None:
    """Markdown drops what is too much in silence."""
    text, _ = page(everything())

    for table in tables(text):
        assert len({re.sub(r"\\\|", "", line).count("|") for line in table}) == 1, table[0]


def test_every_chart_is_shown_once() -> None:
    """And none is shown that is not there."""
    text, pictures = page(everything())

    shown = re.findall(rf"\({PICTURES}/([\w.-]+)\)", text)
    assert sorted(shown) == sorted(pictures)
    assert len(pictures) >= 7


def test_ratios_come_first_and_count_what_a_proxy_adds() -> None:
    """LiteLLM adds 30 ms where the edge adds 1, and works for 5 where the edge works for a half."""
    text, _ = page(everything())

    assert "| answer | 1 | 30 | 10 | 1.0 | 30.0 |" in text


def test_what_is_missed_is_said_beside_what_is_wanted() -> None:
    """Whoever reads a limit need not compare the table with it."""
    figures = everything()
    assert "Missed" not in page(figures)[0]

    figures["verify.json"]["rows"][-1]["ratio"] = 0.7
    figures["verify.json"]["rows"][-1]["growth"] = 1.3
    figures["verify.json"]["rows"][-1]["traced_ratio"] = 0.94
    figures["growth.json"]["sizes"][-1]["cpu_ms"] *= 1.5
    text, _ = page(figures)

    assert re.search(r"\*\*Missed: the ratio .*, growth\.\*\*", text)
    assert "**Missed: metrics and traces.**" in text
    assert "**Missed: growth.**" in text


def test_what_was_lost_stands_beside_the_way_that_lost_it() -> None:
    """A sum over ways would blame one for another's losses."""
    text, _ = page(everything())

    assert "| 0 of 90 | 0 of 90 | 1 of 91 | 0 |" in text


def test_a_planted_leak_stands_beside_what_ships_and_is_said_to_be_missed() -> None:
    """A bench that finds no leak says nothing about what it did not find."""
    figures = everything()
    text, _ = page(figures)
    assert "| wrong last | 4000 | +0.3 | 1.1 | +1500.0 | 1.1 |" in text

    figures["near-miss.json"]["missed"] = ["wrong last"]

    assert "**The planted leak was missed: wrong last.**" in page(figures)[0]


def test_where_the_generator_was_at_its_limit_the_page_says_so() -> None:
    """What it could not load more is no measure of what was loaded."""
    text, _ = page(everything())

    assert "| 0.70 | 0.94, a bound |" in text


def test_a_bench_that_was_not_run_has_no_section() -> None:
    """Nor charts."""
    text, pictures = page({"revocation.json": everything()["revocation.json"]})

    assert text.count("\n## ") == 1
    assert pictures == {}


def test_the_shipped_page_has_the_charts_that_it_shows() -> None:
    """And no others lie beside it."""
    shown = set(re.findall(rf"\({PICTURES}/([\w.-]+)\)", PAGE.read_text(encoding="utf-8")))

    assert shown == {path.name for path in (PAGE.parent / PICTURES).glob("*")}
