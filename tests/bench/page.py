"""Write the page of measurements from what the benches left in a directory.

Run ``python tests/bench/page.py build/bench docs/reference/measurements.md``. A bench that was not run
leaves its section out. Ratios come first: they survive a change of machine. Nothing is a promise.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Figures = dict[str, Any]

HEAD = """# Measurements

What `make bench` measured, on the machine and the day that each table names. Ratios are between things
that ran side by side in the same run; absolute figures belong to that machine.
"""


def verify(figures: Figures) -> Iterator[str]:
    """Yield the table of the ForwardAuth check."""
    yield "## The check of a key\n"
    yield (
        "`check` is the ForwardAuth service, metrics and audit on; `bare` the same server giving the same "
        "answer without looking; `FastAPI` a plain FastAPI route with the same check. One core serves, "
        f"another loads, {figures['connections']} connections.\n"
    )
    yield (
        "| keys | check / bare | by processor time | check / FastAPI | requests a second: check | bare "
        "| FastAPI | p99 ms: check | bare | memory MB |"
    )
    yield "|---" * 10 + "|"
    for row in figures["rows"]:
        rps, p99 = row["rps"], row["p99_ms"]
        yield (
            f"| {row['tokens']} | {row['ratio']:.2f} | {row['cpu_ratio']:.2f} | {row['fastapi_ratio']:.1f} "
            f"| {rps['check']:.0f} | {rps['bare']:.0f} | {rps['fastapi']:.0f} "
            f"| {p99['check']:.1f} | {p99['bare']:.1f} | {row['memory_mb']} |"
        )
    yield "\nWanted: 0.85 of the bare server, p99 under 4 ms at 10 000 keys, under 200 MB at 100 000."


def revocation(figures: Figures) -> Iterator[str]:
    """Yield the table of revocations."""
    yield "## From a deletion to the last 401\n"
    yield (
        "Three ForwardAuth services under load. `verifier`: from the API server's answer to the deletion "
        "of the verifier; `request`: from its answer to the customer's deletion of the APITokenRequest.\n"
    )
    yield "| deleted | keys | a second | p50 ms | p99 ms | longest ms | allowed after a refusal |"
    yield "|---" * 7 + "|"
    for row in figures["rows"]:
        p50, p99, longest = (1000 * row[name] for name in ("p50", "p99", "longest"))
        yield (
            f"| {row['way']} | {row['keys']} | {row['per_second']:g} | {p50:.1f} | {p99:.1f} "
            f"| {longest:.1f} | {row['allowed_after_refusal']} |"
        )
    yield "\nWanted: p99 under 100 ms from the verifier's deletion, nothing allowed afterwards."


def reconcile(figures: Figures) -> Iterator[str]:
    """Yield the table of the operator."""
    restart, settled = figures["restart"], figures["settled"]
    yield f"## {figures['instances']} instances\n"
    yield "| what | measured | wanted |\n|---|---|---|"
    yield (
        f"| new instances until every Ingress exists, beside the same writes issued directly "
        f"| {figures['ratio']:.2f} ({statistics.median(figures['operator']):.1f} s beside "
        f"{statistics.median(figures['direct']):.1f} s) | at most 1.5 |"
    )
    yield (
        f"| restart over the settled world | {figures['restart_seconds']:.1f} s, "
        f"{restart['changed']} writes | under 20 s, none |"
    )
    yield (
        f"| writes in {settled['seconds']:.0f} s of a settled world | {settled['changed']} by version, "
        f"{sum(settled['requests'].values())} by request | none |"
    )
    yield f"| memory of the operator | {figures['operator_peak_mb']:.0f} MB at most | |"


SECTIONS: dict[str, Callable[[Figures], Iterator[str]]] = {
    "verify.json": verify,
    "revocation.json": revocation,
    "reconcile.json": reconcile,
    "reconcile-1000.json": reconcile,
}


def page(directory: Path) -> str:
    """Return the page."""
    parts = [HEAD]
    for name, section in SECTIONS.items():
        source = directory / name
        if source.exists():
            figures = json.loads(source.read_text())
            parts += ["\n".join(section(figures)), _machine(figures)]
    return "\n".join(f"{part.strip()}\n" for part in parts)


def _machine(figures: Figures) -> str:
    return (
        f"*{figures['date'][:10]}, {figures['cores']} cores, Python {figures['python']}, "
        f"load average {figures['loadAverage'][0]:.1f}.*"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=Path, help="directory with the benches' JSON")
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    options.page.write_text(page(options.figures), encoding="utf-8")


if __name__ == "__main__":
    main()
