"""What the edge adds to a request, beside what LiteLLM's proxy adds: latency, time to first token, streams.

Run ``python tests/bench/edge_bench.py --json FILE``. It starts an embedded environment, or uses a running
one (``--state``), and asks the same model server in three ways: straight, through Traefik and the
ForwardAuth service, and through LiteLLM's proxy. Turns of the three ways alternate, so that what else the
machine does falls on all alike; what a way adds is its percentile less that of the straight way. Two
servers are asked:

* ``fast`` answers at once, so the difference is the proxy's and the ratio says how much of it there is;
* ``real`` is llama.cpp with the demo's model, which says how much of that a customer can notice.

Everything shares the machine: at 16 and 64 connections on two cores the queue is most of a latency, and
requests a second and processor time for each request tell more. LiteLLM runs with one worker, its master
key and no database, its lightest set-up; its virtual keys, which are what compares with ours, need a
PostgreSQL.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import httpx

import bench_litellm
from bench_edge import FAST, REAL, Target, Ways, ways
from bench_machine import described
from customer import question
from eventually import eventually

CONNECTIONS = (1, 16, 64)
WAYS = ("direct", "edge", "litellm")
KINDS = ("answer", "stream")
BUSY = ("llamacpp:requests_processing", "llamacpp:requests_deferred")
"""What llama.cpp counts for as long as it has something to do."""

TOKENS = 8
"""Tokens that the real server generates for a request."""


@dataclass(frozen=True, slots=True)
class Turns:
    """How long each way is asked.

    Attributes:
        rounds: How often, in turns with the others.
        seconds: How long each time.
    """

    rounds: int
    seconds: float


USUAL = {FAST: Turns(3, 3.0), REAL: Turns(2, 6.0)}
BRIEF = dict.fromkeys(USUAL, Turns(1, 1.0))
"""Enough to see that everything works."""


@dataclass(slots=True)
class Seen:
    """What one way did in all rounds of one case.

    Attributes:
        seconds: How long it was measured.
        whole: How often each latency was seen, in microseconds.
        first: The same of times to the first bytes of the answer's body.
        errors: Requests that failed.
        stale: Requests that met a connection which the server had closed, and were sent once more.
        generator: Share of a core that the load generator used, at most.
        cpu: Processor seconds of each part.
    """

    seconds: float = 0.0
    whole: Counter[float] = field(default_factory=Counter)
    first: Counter[float] = field(default_factory=Counter)
    errors: int = 0
    stale: int = 0
    generator: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)

    def add(self, told: dict[str, Any], cpu: dict[str, float]) -> None:
        """Add a turn."""
        self.seconds += told["seconds"]
        for mine, more in ((self.whole, told["whole"]), (self.first, told["first"])):
            mine.update({float(latency): count for latency, count in more.items()})
        self.errors += told["errors"]
        self.stale += told["stale"]
        self.generator = max(self.generator, told["generator"])
        for name, seconds in cpu.items():
            self.cpu[name] = self.cpu.get(name, 0.0) + seconds


@dataclass(frozen=True)
class Figures:
    """One way in one case; times in milliseconds.

    Attributes:
        requests: How many were answered.
        errors: How many were not.
        stale: How many of the requests met a connection which the server had closed, and were sent twice.
        per_second: Answers a second.
        p50: Median until the whole answer.
        p99: Its 99th percentile.
        first_p50: Median until the first bytes of the body.
        first_p99: Its 99th percentile.
        cpu: Processor time of each part for one request.
        generator: Share of a core that the load generator used.
    """

    requests: int
    errors: int
    stale: int
    per_second: float
    p50: float
    p99: float
    first_p50: float
    first_p99: float
    cpu: dict[str, float]
    generator: float

    @classmethod
    def of(cls, seen: Seen) -> "Figures":
        """Sum turns up."""
        count = seen.whole.total()
        return cls(
            requests=count,
            errors=seen.errors,
            stale=seen.stale,
            per_second=count / seen.seconds,
            p50=percentile(seen.whole, 50),
            p99=percentile(seen.whole, 99),
            first_p50=percentile(seen.first, 50),
            first_p99=percentile(seen.first, 99),
            cpu={name: 1000 * spent / max(1, count) for name, spent in seen.cpu.items()},
            generator=seen.generator,
        )


@dataclass(frozen=True)
class Row:
    """One case: a server, a kind of answer, a number of connections."""

    server: str
    kind: str
    connections: int
    ways: dict[str, Figures]

    def added(self, way: str, what: str) -> float:
        """Return by how many milliseconds a way is slower than the straight one."""
        return float(getattr(self.ways[way], what) - getattr(self.ways["direct"], what))


def percentile(microseconds: Counter[float], percent: int) -> float:
    """Return a percentile in milliseconds; 0 of nothing."""
    left = microseconds.total() * percent // 100
    for latency in sorted(microseconds):
        left -= microseconds[latency]
        if left < 0:
            return latency / 1000
    return max(microseconds, default=0.0) / 1000


def body(server: str, kind: str, model: str) -> str:
    """Return the body of a request."""
    asked = question() | {"model": model, "max_tokens": TOKENS}
    if server == REAL:
        # Without the stop word it writes on, so that every answer has the same number of tokens.
        del asked["stop"]
    if kind == "stream":
        asked["stream"] = True
    return json.dumps(asked)


async def turn(target: Target, server: str, kind: str, connections: int, seconds: float) -> Any:
    """Load one way for a while; return what the generator tells and each part's processor time."""
    order = {
        "host": target.host,
        "port": target.port,
        "path": target.path,
        "key": target.key,
        "body": body(server, kind, target.model),
        "connections": connections,
        "seconds": seconds,
    }
    before = target.cpu_seconds()
    told = await asyncio.to_thread(_generate, json.dumps(order))
    cpu = {name: after - before[name] for name, after in target.cpu_seconds().items()}
    return json.loads(told), cpu


def _generate(order: str) -> str:
    """Run the load generator, a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("edge_load.py"))]
    finished = subprocess.run(command, input=order, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


async def case(
    there: dict[str, Target], server: str, kind: str, connections: int, turns: Turns
) -> Row:
    """Measure one case, the ways in turns."""
    seen = {way: Seen() for way in WAYS}
    for _ in range(turns.rounds):
        for way in WAYS:
            if server == REAL:
                await until_idle(there["direct"])
            seen[way].add(*await turn(there[way], server, kind, connections, turns.seconds))
    return Row(server, kind, connections, {way: Figures.of(seen[way]) for way in WAYS})


async def until_idle(server: Target) -> None:
    """Wait until llama.cpp has nothing left to do of a turn that was cut off at its end."""
    url = f"http://{server.host}:{server.port}/metrics"
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:

        async def idle() -> bool:
            answer = await http.get(url, headers={"Authorization": f"Bearer {server.key}"})
            lines = answer.raise_for_status().text.splitlines()
            return all(line.endswith(" 0") for line in lines if line.startswith(BUSY))

        await eventually(idle, within=120, what="a model server with nothing left to do")


async def until_open(found: Ways) -> None:
    """Wait until every way leads to its server; the first answer of a proxy may take seconds."""
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        for server, way in product((FAST, REAL), WAYS):
            target = found[server][way]

            async def answered(target: Target = target, server: str = server) -> bool:
                url = f"http://{target.host}:{target.port}{target.path}"
                headers = {
                    "Authorization": f"Bearer {target.key}",
                    "Content-Type": "application/json",
                }
                content = body(server, "answer", target.model)
                answer = await http.post(url, headers=headers, content=content)
                assert answer.status_code == httpx.codes.OK, answer.text
                return True

            await eventually(answered, within=120, what=f"an answer of {server} by {way}")


async def measure(
    state: Path | None,
    directory: Path,
    cases: Sequence[tuple[str, str, int]],
    turns: Mapping[str, Turns],
) -> list[Row]:
    """Measure every case: a server, a kind of answer, a number of connections."""
    rows = []
    async with ways(state, directory) as found:
        await until_open(found)
        for server, kind, count in cases:
            rows.append(await case(found[server], server, kind, count, turns[server]))
            write_row(rows[-1], sys.stderr)
    return rows


def write_row(row: Row, out: TextIO) -> None:
    """Write one case, the ratio first; what is less than nothing was lost in what else went on."""
    edge, litellm = row.added("edge", "p50"), row.added("litellm", "p50")
    ratio = f"LiteLLM adds {litellm / edge:.0f} times as much" if edge > 0 else "no ratio"
    out.write(
        f"{row.server} {row.kind} x{row.connections}: {ratio} (p50 {litellm:+.2f} ms, "
        f"edge {edge:+.2f} ms; p99 {row.added('litellm', 'p99'):+.2f}, "
        f"{row.added('edge', 'p99'):+.2f})\n"
    )
    for way, it in row.ways.items():
        spent = ", ".join(f"{name} {ms:.2f} ms" for name, ms in it.cpu.items())
        out.write(
            f"  {way:<8}{it.per_second:8.0f}/s  p50 {it.p50:8.2f}  p99 {it.p99:8.2f}  "
            f"first {it.first_p50:8.2f} {it.first_p99:8.2f}  errors {it.errors}  "
            f"stale {it.stale}  "
            f"generator {it.generator:.0%}  {spent}\n"
        )


def report(rows: list[Row], turns: Mapping[str, Turns]) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        **described(),
        "litellm": bench_litellm.version(),
        "turns": {server: asdict(of_server) for server, of_server in turns.items()},
        "rows": [asdict(row) for row in rows],
    }


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--state", type=Path, help="a running environment with the demo")
    parser.add_argument("--servers", nargs="+", choices=(FAST, REAL), default=(FAST, REAL))
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--brief", action="store_true", help="see that it works, measure nothing")
    options = parser.parse_args()
    turns = BRIEF if options.brief else USUAL
    cases = tuple(product(options.servers, KINDS, options.connections))
    with tempfile.TemporaryDirectory(prefix="private-llm-bench-") as name:
        rows = asyncio.run(measure(options.state, Path(name), cases, turns))
    for row in rows:
        write_row(row, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(rows, turns), indent=2) + "\n")


if __name__ == "__main__":
    main()
