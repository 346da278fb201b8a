"""The page of measurements: a section for each bench, with its table and its charts.

Sections are made from what a bench left as JSON, and from nothing else, so the same figures make the same
page. Ratios come first: they survive a change of machine. Nothing is a promise but what "wanted" says.
"""

import statistics
from collections.abc import Callable, Iterator

from bench_compared import WANTED_GROWTH, edge, growth, head, share, verdict
from bench_machine import told
from bench_pictures import Figures, Part, Picture, line_picture
from bench_plots import Axis, Chart, Series

HEAD = """# Measurements

What `make bench` measured, on the machine and the day that each section names. Ratios are between things
that ran side by side in the same run; absolute figures belong to that machine. What faults cost, and how
soon they are over, is on a page of its own: [What happens when a part dies](faults.md).
"""
VERIFY = """\
`check` is the ForwardAuth service, metrics and audit on; `bare` the same server giving the same answer
without looking; `FastAPI` a plain FastAPI route with the same check. One process serves all of them on one
core and is asked in short turns; another core loads, {connections} connections. Growth is the processor
time of one check over the bare server's, beside the same with the fewest keys. A check takes the same steps
with any number of keys (`tests/unit/authserver/test_steps.py`), so what grows is the time of single steps:
reads of memory that the processor's caches no longer hold.
"""
VERIFY_COLUMNS = (
    *("keys", "check / bare", "by processor time", "growth by processor time", "check / FastAPI"),
    *("requests a second: check", "bare", "FastAPI", "p99 ms: check", "bare"),
    *("generator's share of a core: check", "bare", "memory MB"),
)
TELEMETRY = """\
In the same turns, by processor time of the server: `uncounted` is the check without metrics and
traces, `counted` with metrics, as it ships; `traced` also notes spans, behind a Traefik that keeps every
trace: at most 100 a second, of which {spans} arrived at a collector. It is compared with `uncounted`
behind such a Traefik, whose headers cost both the same. `twin` is `uncounted` once more: what that ratio
differs from 1 by, chance does to the others. What is told to the supervisor at the end of a turn is in
these figures; spans are made and sent, and what was counted is added up, by the supervisor, which runs on
the other core here and is not.
"""
TELEMETRY_COLUMNS = (
    *("keys", "uncounted / counted", "uncounted / traced", "uncounted / twin"),
    *("microseconds: uncounted", "counted", "traced"),
)
TRACING = """\
A decision without its HTTP server, `uncounted` being one without metrics and traces; a whole request
takes about five times as long, and what they cost that is told above. `off`: metrics, no collector named;
`none`: traces on, requests without one; `dropped`: their trace is not kept; `above`: every one is, and the
limit of spans holds; `kept`: every span is noted.
"""
CHECK_MEMORY = """\
A whole pod, filled by an API server's list: a supervisor and its workers, of which there are {} by default.
Each worker more has an index of its own.
"""
NEAR_MISS = """\
Nanoseconds by which a kind of guess differs from one that is wrong everywhere, over {rounds} rounds of
another key and new guesses, and how far chance alone gets at {percent:.0f} % for all kinds together; `its
twin` is another guess of the same kind. A key id that nobody has may differ by {look_up_ns:.0f}, because
key ids are public. The planted leak is a check that compares character by character up to the first that
is wrong: the bench fails when it is not found in the same run.
"""
NEAR_MISS_COLUMNS = (
    *("guess", "median ns", "differs by", "chance alone"),
    *("planted leak: differs by", "chance alone"),
)

WANTED_RATIO = 0.85
WANTED_P99_MS = 4.0
P99_KEYS = 10_000
WANTED_CHECK_MB = 200
WANTED_SHARE = 0.95

Section = Callable[[Figures], Iterator[Part]]


def verify(figures: Figures) -> Iterator[Part]:
    """Yield the section of the ForwardAuth check."""
    rows = figures["rows"]
    yield "## The check of a key\n"
    yield VERIFY.format(**figures)
    yield head(VERIFY_COLUMNS)
    for row in rows:
        rps, p99, generator = row["rps"], row["p99_ms"], row["generator"]
        yield (
            f"| {row['tokens']} | {row['ratio']:.2f} | {row['cpu_ratio']:.2f} | {row['growth']:.2f} "
            f"| {row['fastapi_ratio']:.1f} "
            f"| {rps['check']:.0f} | {rps['bare']:.0f} | {rps['fastapi']:.0f} "
            f"| {p99['check']:.1f} | {p99['bare']:.1f} "
            f"| {share(generator['check'])} | {share(generator['bare'])} | {row['memory_mb']} |"
        )
    reached = {
        "the ratio ([why](../adr/0065-the-check-stays-an-asgi-application.md))": all(
            row["ratio"] >= WANTED_RATIO for row in rows
        ),
        "growth": all(row["growth"] <= WANTED_GROWTH for row in rows),
        "p99": all(r["p99_ms"]["check"] < WANTED_P99_MS for r in rows if r["tokens"] == P99_KEYS),
        "memory": all(row["memory_mb"] < WANTED_CHECK_MB for row in rows),
    }
    yield (
        "\nWanted: 0.85 of the bare server, growth of at most 1.2 up to 100 000 keys, p99 under 4 ms at "
        "10 000 keys, under 200 MB at 100 000. "
        f"{verdict(reached)}"
    )
    names = {"check": "check", "bare": "bare server", "fastapi": "FastAPI route"}
    yield line_picture(
        "verify-rate",
        Chart(
            "Requests a second on one core",
            Axis("keys", log=True),
            Axis("requests a second"),
            tuple(row["tokens"] for row in rows),
            tuple(
                Series(name, tuple(row["rps"][way] for row in rows)) for way, name in names.items()
            ),
        ),
    )
    yield from _telemetry(figures)


def _telemetry(figures: Figures) -> Iterator[Part]:
    """Yield what metrics and traces cost a whole request to the check."""
    yield "\n### What metrics and traces cost a request\n"
    yield TELEMETRY.format(**figures)
    yield head(TELEMETRY_COLUMNS)
    for row in figures["rows"]:
        times = (f"{row['cpu_us'][mode]:.1f}" for mode in ("uncounted", "check", "traced"))
        ratios = (f"{row[name]:.3f}" for name in ("counted_ratio", "traced_ratio", "noise_ratio"))
        yield f"| {row['tokens']} | {' | '.join(ratios)} | {' | '.join(times)} |"
    reached = {
        "metrics": all(row["counted_ratio"] >= WANTED_SHARE for row in figures["rows"]),
        "metrics and traces": all(row["traced_ratio"] >= WANTED_SHARE for row in figures["rows"]),
    }
    yield f"\nWanted: at least 0.95 with metrics and traces. {verdict(reached)}"


def revocation(figures: Figures) -> Iterator[Part]:
    """Yield the section of revocations."""
    yield "## From a deletion to the last 401\n"
    yield (
        "Three ForwardAuth services under load. `verifier`: from the API server's answer to the deletion "
        "of the verifier; `request`: from its answer to the customer's deletion of the APITokenRequest. "
        f"A key is asked about {figures['poll_ms']:g} ms after each answer, which is the resolution.\n"
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


def reconcile(figures: Figures) -> Iterator[Part]:
    """Yield the section of the operator over one number of instances."""
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


def check_memory(figures: Figures) -> Iterator[Part]:
    """Yield the section of the ForwardAuth service at rest."""
    rows = figures["rows"]
    yield "## The ForwardAuth service at rest\n"
    yield CHECK_MEMORY.format(figures["workers"])
    yield "| keys | workers | memory MB | % of a core | ready after s |\n|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| {row['keys']} | {row['workers']} | {row['memory_mb']:.0f} | {100 * row['cpu_share']:.2f} "
            f"| {row['ready_seconds']:.1f} |"
        )
    yield "\nWanted with the default: under 200 MB at 100 000 keys, under 2 % of a core."
    of_default = [row for row in rows if row["workers"] == figures["workers"]]
    yield line_picture(
        "check-memory",
        Chart(
            "Memory of a ForwardAuth pod",
            Axis("keys", log=True),
            Axis("MB"),
            tuple(row["keys"] for row in of_default),
            (Series("a whole pod", tuple(row["memory_mb"] for row in of_default)),),
            wanted=200,
        ),
    )


def sync(figures: Figures) -> Iterator[Part]:
    """Yield the section of the sync agent."""
    yield "## The sync agent\n"
    yield (
        f"{figures['objects']} objects in {figures['workspaces']} workspaces, and one more in each, "
        f"{figures['per_second']:g} a second. `direct` is the same object made in the service cluster.\n"
    )
    yield "| way | p50 / direct | p50 ms | p99 ms | longest ms |\n|---|---|---|---|---|"
    for way in ("down", "up", "direct"):
        it = figures[way]
        p50, p99, longest = (1000 * it[name] for name in ("p50", "p99", "longest"))
        ratio = it["p50"] / figures["direct"]["p50"]
        yield f"| {way} | {ratio:.1f} | {p50:.0f} | {p99:.0f} | {longest:.0f} |"
    share = 100 * figures["settled_cpu_seconds"] / figures["settled_seconds"]
    yield (
        f"\nAgent: {figures['memory_mb'][0]:.0f} MB, {figures['memory_mb'][1]:.0f} MB at most; at rest "
        f"{share:.1f} % of a core and {figures['writes']} writes in {figures['settled_seconds']:.0f} s. "
        "Wanted: p99 under 2 s, under 300 MB, no writes."
    )


def tracing(figures: Figures) -> Iterator[Part]:
    """Yield the section of what metrics and traces cost."""
    yield "## What metrics and traces cost the check\n"
    yield TRACING
    yield "| mode | microseconds | added | ratio |\n|---|---|---|---|"
    for row in figures["rows"]:
        yield f"| {row['mode']} | {row['us']:.2f} | {row['added_us']:+.2f} | {row['ratio']:.3f} |"


def near_miss(figures: Figures) -> Iterator[Part]:
    """Yield the section of guesses."""
    yield "## What the time of a refusal tells\n"
    yield NEAR_MISS.format(percent=100 * figures["level"], **figures)
    yield head(NEAR_MISS_COLUMNS)
    for row, leak in zip(figures["rows"], figures["control"], strict=True):
        cells = (f"{one['difference_ns']:+.1f} | {one['noise_ns']:.1f}" for one in (row, leak))
        yield f"| {row['kind']} | {row['ns']} | {' | '.join(cells)} |"
    visible = ", ".join(figures["visible"]) or "none"
    yield f"\nKinds that can be told by their time: {visible}. Wanted: none."
    if figures["missed"]:
        yield f"**The planted leak was missed: {', '.join(figures['missed'])}.**"


SECTIONS: dict[str, Section] = {
    "verify.json": verify,
    "check-memory.json": check_memory,
    "edge.json": edge,
    "tracing.json": tracing,
    "near-miss.json": near_miss,
    "revocation.json": revocation,
    "reconcile.json": reconcile,
    "reconcile-1000.json": reconcile,
    "growth.json": growth,
    "sync.json": sync,
}
"""Each bench's section by the file that it leaves, in the page's order."""


def page(found: dict[str, Figures]) -> tuple[str, dict[str, str]]:
    """Return the page, and the content of each chart by its file's name.

    Args:
        found: What benches left, by the file's name; a bench that was not run has no section.
    """
    text: list[str] = [HEAD]
    pictures: dict[str, str] = {}
    for name, section in SECTIONS.items():
        if name not in found:
            continue
        parts = tuple(section(found[name]))
        lines = (part.line if isinstance(part, Picture) else part for part in parts)
        machine = told(found[name], f"{found[name]['loadAverage'][0]:.1f}")
        text += ["\n".join(lines).strip(), machine]
        pictures |= {f"{part.name}.svg": part.svg for part in parts if isinstance(part, Picture)}
    return "\n".join(f"{part.strip()}\n" for part in text), pictures
