"""What the check costs: requests per second beside the same server without it, and beside FastAPI.

Run ``python tests/bench/verify_bench.py --json FILE``. One core serves, another one loads; on a machine
with one core they share it. All applications are served by one process, which every round starts afresh
and asks in many short turns (``verify_load.py``): so neither what else the machine does nor where that
process's memory happens to lie falls on one of them alone. A ratio is the median over the turns of all
rounds, each compared with its neighbour. Beside requests per second, which other load on the machine and a
generator at its limit distort, stands the server's own processor time per request, reports to its
supervisor included, which they distort less.

* ``check``: the authserver's application on its own server, below its own supervisor, which takes the
  reports in; metrics on, audit lines limited as by default;
* ``uncounted``: the same without metrics;
* ``twin``: one more of that; by how much the two differ is what chance alone does to a ratio;
* ``traced``: ``check`` with notes for traces, of which the supervisor sends spans to a collector, behind a
  Traefik that keeps every trace; it is compared with ``uncounted`` behind such a Traefik, whose headers
  cost both the same;
* ``bare``: the same server giving the same answer, identity headers included, without looking;
* ``fastapi``: a plain FastAPI route with the same check, without metrics and audit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from operator import truediv
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from verify_load import TRACED, Load

from bench_machine import described
from telemetry_collector import Collector, grpc_collector

HERE = Path(__file__).parent
COUNTS = (10, 1_000, 10_000, 100_000)


class Way(NamedTuple):
    """A way of asking.

    Attributes:
        application: Which is asked.
        traced: Whether the requests belong to a trace that is kept.
    """

    application: str
    traced: bool = False


WAYS = {
    "bare": Way("bare"),
    "uncounted": Way("uncounted"),
    "twin": Way("twin"),
    "check": Way("check"),
    "untraced": Way("uncounted", traced=True),
    "traced": Way("traced", traced=True),
    "fastapi": Way("fastapi"),
}
WANTED_RATIO = 0.85
WANTED_TELEMETRY_RATIO = 0.95
WANTED_P99_MS = 4.0

Round = dict[str, Load]
"""What the generator tells in one round, by way."""


@dataclass(frozen=True)
class Running:
    """A process that serves every application.

    Attributes:
        tokens: How many keys it knows.
        pid: Its own id.
        orders: The port where it is told to report.
        ports: Where it serves each application.
        peak_mb: Memory that it has taken so far at most.
    """

    tokens: int
    pid: int
    orders: int
    ports: dict[str, int]
    peak_mb: int


@dataclass(frozen=True)
class Row:
    """What was measured with one number of tokens; medians over rounds.

    Attributes:
        tokens: How many.
        noise_ratio: ``twin`` beside ``uncounted``, by processor time: 1 but for chance.
        ratio: Requests a second of ``check`` beside ``bare``.
        cpu_ratio: The same by processor time.
        growth: Processor time of ``check`` over that of ``bare``, beside the same with the fewest tokens.
        fastapi_ratio: Requests a second of ``check`` beside ``fastapi``.
        counted_ratio: ``check`` beside ``uncounted``, by processor time: 1 where metrics cost nothing.
        traced_ratio: ``traced`` beside ``uncounted`` with the same headers, by processor time.
        rps: Requests a second of each server.
        cpu_us: Microseconds of processor time for one request.
        p99_ms: 99th percentile of the latency.
        generator: Share of a core that the load generator used.
        memory_mb: Memory of the process at most, before it was asked.
    """

    tokens: int
    noise_ratio: float
    ratio: float
    cpu_ratio: float
    growth: float
    fastapi_ratio: float
    counted_ratio: float
    traced_ratio: float
    rps: dict[str, float]
    cpu_us: dict[str, float]
    p99_ms: dict[str, float]
    generator: dict[str, float]
    memory_mb: int


def cores() -> tuple[int, int]:
    """Return the core that serves and the core that loads."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]


@contextmanager
def serving(tokens: int, collector: Collector) -> Iterator[Running]:
    """Run the process with all servers."""
    own, others = cores()
    cores_of = [f"--core={own}", f"--own-core={others}"]
    options = [f"--tokens={tokens}", f"--share={1 / len(WAYS)}", *cores_of]
    command = [sys.executable, str(HERE / "verify_supervisor.py"), *options]
    environment = os.environ | collector.environment
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        assert process.stdout is not None
        hello = json.loads(process.stdout.readline())
        yield Running(tokens, hello["pid"], hello["orders"], hello["ports"], hello["peakMB"])
    finally:
        process.kill()
        process.wait()


def load(target: Running, connections: int, turns: int) -> Round:
    """Load every server for a while, in turns."""
    ways = [
        f"{name}={way.application}={target.ports[way.application]}{TRACED if way.traced else ''}"
        for name, way in WAYS.items()
    ]
    options = {
        "server": target.pid,
        "orders": target.orders,
        "tokens": target.tokens,
        "core": cores()[1],
        "connections": connections,
        "turns": turns,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, str(HERE / "verify_load.py"), *arguments, *ways]
    told: Round = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for name, figures in told.items():
        if figures["errors"]:
            raise SystemExit(f"{name} gave {figures['errors']} wrong answers.")
    return told


@dataclass(frozen=True)
class Measured:
    """What was told with one number of tokens."""

    tokens: int
    rounds: list[Round]
    memory_mb: int

    def turns(self, figure: Literal["rps", "cpu"], way: str) -> list[float]:
        """Return a figure of every turn of a way."""
        return [value for one in self.rounds for value in one[way][figure]]

    def ratio(self, figure: Literal["rps", "cpu"], over: str, under: str) -> float:
        """Return the median of the turns' ratios between two ways."""
        return statistics.median(map(truediv, self.turns(figure, over), self.turns(figure, under)))

    def medians(self, figure: Literal["rps", "cpu"]) -> dict[str, float]:
        """Return the median of a figure by way."""
        return {way: statistics.median(self.turns(figure, way)) for way in WAYS}

    def over_rounds(self, figure: Literal["p99", "generator"]) -> dict[str, float]:
        """Return the median of a figure that a whole round has, by way."""
        return {way: statistics.median(one[way][figure] for one in self.rounds) for way in WAYS}


def measure(
    tokens: int, rounds: int, connections: int, turns: int, collector: Collector
) -> Measured:
    """Measure all servers with one number of tokens, in turns."""
    sys.stderr.write(f"measuring with {tokens} tokens\n")
    told, memory = [], 0
    for _ in range(rounds):
        with serving(tokens, collector) as process:
            told.append(load(process, connections, turns))
            memory = max(memory, process.peak_mb)
    return Measured(tokens, told, memory)


def summarise(measured: Sequence[Measured]) -> list[Row]:
    """Reduce turns to medians; growth counts from the first number of tokens."""
    first = measured[0].ratio("cpu", "bare", "check")
    return [
        Row(
            tokens=one.tokens,
            noise_ratio=one.ratio("cpu", "uncounted", "twin"),
            ratio=one.ratio("rps", "check", "bare"),
            cpu_ratio=one.ratio("cpu", "bare", "check"),
            # Beside the bare server, because the machine is not as fast in one minute as in the next.
            growth=first / one.ratio("cpu", "bare", "check"),
            fastapi_ratio=one.ratio("rps", "check", "fastapi"),
            counted_ratio=one.ratio("cpu", "uncounted", "check"),
            traced_ratio=one.ratio("cpu", "untraced", "traced"),
            rps=one.medians("rps"),
            cpu_us=one.medians("cpu"),
            p99_ms=one.over_rounds("p99"),
            generator=one.over_rounds("generator"),
            memory_mb=one.memory_mb,
        )
        for one in measured
    ]


def write_table(rows: list[Row], out: TextIO) -> None:
    """Write the ratios first, then what they were made of."""
    out.write(
        "\n  tokens | check/bare  by CPU time  growth  check/FastAPI  metrics  and traces  chance |"
        " requests/s: check  bare  FastAPI | p99 ms: check  bare  FastAPI | generator: check  bare |"
        " memory MB\n"
    )
    for row in rows:
        rps, p99, generator = row.rps, row.p99_ms, row.generator
        out.write(
            f"{row.tokens:8d} | {row.ratio:10.2f}  {row.cpu_ratio:11.2f}  {row.growth:6.2f} "
            f" {row.fastapi_ratio:13.2f}  {row.counted_ratio:7.3f}  {row.traced_ratio:10.3f} "
            f" {row.noise_ratio:6.3f} |"
            f" {rps['check']:17.0f} {rps['bare']:5.0f} {rps['fastapi']:8.0f} |"
            f" {p99['check']:13.1f} {p99['bare']:5.1f} {p99['fastapi']:8.1f} |"
            f" {generator['check']:16.2f} {generator['bare']:5.2f} | {row.memory_mb:9d}\n"
        )
    out.write(
        f"\nWanted: check/bare at least {WANTED_RATIO}, with metrics and traces at least "
        f"{WANTED_TELEMETRY_RATIO} of without, p99 under {WANTED_P99_MS:g} ms at 64 connections "
        "and 10 000 tokens, memory under 200 MB at 100 000 tokens.\n"
    )


def report(rows: list[Row], options: argparse.Namespace, spans: int) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        **described(),
        "connections": options.connections,
        "spans": spans,
        "rows": [asdict(row) for row in rows],
    }


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--tokens", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=60, help="of each way in a round")
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    load_of = (options.rounds, options.connections, options.turns)
    with grpc_collector() as collector:
        rows = summarise([measure(count, *load_of, collector) for count in options.tokens])
    spans = len(collector.spans)
    if not spans:
        raise SystemExit("No span arrived, so what traces cost was not measured.")
    write_table(rows, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(rows, options, spans), indent=2) + "\n")


if __name__ == "__main__":
    main()
