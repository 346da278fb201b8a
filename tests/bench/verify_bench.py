"""What the check costs: requests per second beside the same server without it, and beside FastAPI.

Run ``python tests/bench/verify_bench.py --json FILE``. One core serves, another one loads; on a machine
with one core they share it. Rounds of all servers alternate, so that what else the machine does falls on
all of them alike, and the ratio is the median of the rounds' ratios. Beside requests per second, which
other load on the machine distorts, stands the server's own processor time per request, which it distorts
less.

* ``check``: the authserver's application on its own server, metrics on, audit lines limited as by default;
* ``bare``: the same server giving the same answer, identity headers included, without looking;
* ``fastapi``: a plain FastAPI route with the same check, without metrics and audit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bench_machine import described

HERE = Path(__file__).parent
COUNTS = (10, 1_000, 10_000, 100_000)
MODES = ("bare", "check", "fastapi")
WANTED_RATIO = 0.85
WANTED_P99_MS = 4.0


@dataclass(frozen=True)
class Running:
    """A server that listens."""

    mode: str
    pid: int
    port: int
    peak_mb: int


@dataclass(frozen=True)
class Row:
    """What was measured with one number of tokens."""

    tokens: int
    ratio: float
    cpu_ratio: float
    fastapi_ratio: float
    rps: dict[str, float]
    cpu_us: dict[str, float]
    p99_ms: dict[str, float]
    memory_mb: int


def cores() -> tuple[int, int]:
    """Return the core that serves and the core that loads."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]


@contextmanager
def server(mode: str, tokens: int) -> Iterator[Running]:
    """Run one server."""
    core, _ = cores()
    options = [f"--mode={mode}", f"--tokens={tokens}", f"--core={core}"]
    command = [sys.executable, str(HERE / "verify_server.py"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        hello = json.loads(process.stdout.readline())
        yield Running(mode, process.pid, hello["port"], hello["peakMB"])
    finally:
        process.kill()
        process.wait()


def load(target: Running, tokens: int, connections: int, seconds: float) -> dict[str, float]:
    """Load one server for a while."""
    options = {
        "server": target.pid,
        "port": target.port,
        "tokens": tokens,
        "core": cores()[1],
        "connections": connections,
        "seconds": seconds,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, str(HERE / "verify_load.py"), *arguments]
    result = subprocess.run(command, check=True, capture_output=True)
    figures: dict[str, float] = json.loads(result.stdout)
    if figures["errors"]:
        raise SystemExit(f"{target.mode} gave {figures['errors']:.0f} wrong answers.")
    return figures


def measure(tokens: int, rounds: int, connections: int, seconds: float) -> Row:
    """Measure all servers with one number of tokens."""
    with ExitStack() as stack:
        # What does not look at tokens need not hold them.
        held = {mode: 1 if mode == "bare" else tokens for mode in MODES}
        servers = [stack.enter_context(server(mode, held[mode])) for mode in MODES]
        results = [
            {target.mode: load(target, tokens, connections, seconds) for target in servers}
            for _ in range(rounds)
        ]
        memory = next(target.peak_mb for target in servers if target.mode == "check")
    return summarise(tokens, results, memory)


def summarise(tokens: int, results: list[dict[str, dict[str, float]]], memory: int) -> Row:
    """Reduce rounds to medians."""

    def median(figure: str) -> dict[str, float]:
        return {m: statistics.median(r[m][figure] for r in results) for m in MODES}

    def ratio(figure: str, over: str, under: str) -> float:
        return statistics.median(r[over][figure] / r[under][figure] for r in results)

    return Row(
        tokens=tokens,
        ratio=ratio("rps", "check", "bare"),
        cpu_ratio=ratio("cpu", "bare", "check"),
        fastapi_ratio=ratio("rps", "check", "fastapi"),
        rps=median("rps"),
        cpu_us=median("cpu"),
        p99_ms=median("p99"),
        memory_mb=memory,
    )


def write_table(rows: list[Row], out: TextIO) -> None:
    """Write the ratios first, then what they were made of."""
    out.write(
        "\n  tokens | check/bare  by CPU time  check/FastAPI | requests/s: check  bare  FastAPI"
        " | p99 ms: check  bare  FastAPI | memory MB\n"
    )
    for row in rows:
        rps, p99 = row.rps, row.p99_ms
        out.write(
            f"{row.tokens:8d} | {row.ratio:10.2f}  {row.cpu_ratio:11.2f}  {row.fastapi_ratio:13.2f} |"
            f" {rps['check']:17.0f} {rps['bare']:5.0f} {rps['fastapi']:8.0f} |"
            f" {p99['check']:13.1f} {p99['bare']:5.1f} {p99['fastapi']:8.1f} | {row.memory_mb:9d}\n"
        )
    out.write(
        f"\nWanted: check/bare at least {WANTED_RATIO}, p99 under {WANTED_P99_MS:g} ms at 64 connections"
        " and 10 000 tokens, memory under 200 MB at 100 000 tokens.\n"
    )


def report(rows: list[Row], options: argparse.Namespace) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        **described(),
        "connections": options.connections,
        "rows": [asdict(row) for row in rows],
    }


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--tokens", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement")
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    rows = []
    for tokens in options.tokens:
        sys.stderr.write(f"measuring with {tokens} tokens\n")
        rows.append(measure(tokens, options.rounds, options.connections, options.seconds))
    write_table(rows, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(rows, options), indent=2) + "\n")


if __name__ == "__main__":
    main()
