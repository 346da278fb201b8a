"""What metrics and traces cost the check: processor time of a decision beside that of one without them.

Run ``python tests/bench/tracing_bench.py --json FILE``. Everything is called in one process without a
socket and without an HTTP server, so the ratios are larger than those of a whole request, which takes about
five times as long; the microseconds are the same. Rounds of all modes alternate; a ratio is the median of
the rounds' ratios, a difference the median of the rounds' differences.

* ``uncounted``: no metrics, no traces: the baseline;
* ``off``: metrics, and no traces: what a worker builds when the environment names no collector;
* ``none``: traces on, requests without a trace;
* ``dropped``: traces on, requests whose trace is not kept;
* ``above``: traces on, every request's trace is kept, and the limit of spans a second holds;
* ``kept``: the same with the limit lifted: what one costs that is noted.

The supervisor makes the spans of what is noted; ``verify_bench.py`` has it beside the server.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from operator import sub, truediv
from pathlib import Path
from typing import Any

from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Scope, VerifyApp
from privatellm_authserver.audit import AuditLog, RateLimit
from privatellm_authserver.metrics import Meter
from privatellm_authserver.settings import Settings
from privatellm_authserver.traces import SpanNotes, TracingAudit
from privatellm_authserver.worker import build_app

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from auth_world import PUBLIC_HOST, World, question_for
from bench_machine import described
from bench_meter import NoMeter

ROUNDS = 30
REQUESTS = 2_000
TRACE = b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-"
HEADERS = {
    "uncounted": None,
    "off": None,
    "none": None,
    "dropped": (b"traceparent", TRACE + b"00"),
    "above": (b"traceparent", TRACE + b"01"),
    "kept": (b"traceparent", TRACE + b"01"),
}


async def timed(app: VerifyApp, notes: SpanNotes, scope: Scope, requests: int) -> float:
    """Return the microseconds of processor time that one of some requests takes."""

    async def receive() -> dict[str, str]:
        return {"type": "http.request"}

    async def send(_message: object) -> None:
        return None

    began = time.thread_time_ns()
    for _ in range(requests):
        await app(scope, receive, send)
    notes.take()
    return (time.thread_time_ns() - began) / requests / 1000


def applications(world: World, notes: SpanNotes) -> dict[str, VerifyApp]:
    """Return the application of each mode."""
    settings = Settings(public_host=PUBLIC_HOST, platform_key_file=Path("/not/read/here"))
    audit = TracingAudit(AuditLog(), notes, RateLimit(1e9))
    traced = build_app(settings, world.index, Meter(), notes)
    return {
        "uncounted": VerifyApp(world.reader, world.index, NoMeter(), AuditLog()),
        "off": build_app(settings, world.index, Meter(), None),
        **dict.fromkeys(("none", "dropped", "above"), traced),
        "kept": VerifyApp(world.reader, world.index, Meter(), audit),
    }


def measure(count: int, requests: int) -> dict[str, list[float]]:
    """Return the microseconds of each mode, round by round."""
    rounds: dict[str, list[float]] = {mode: [] for mode in HEADERS}
    world, notes = World(), SpanNotes()
    key = world.key()
    apps = applications(world, notes)
    for _ in range(count):
        world.index.confirm(clocks.uptime())
        for mode, header in HEADERS.items():
            headers = [*question_for(key), *([header] if header else [])]
            scope = {"type": "http", "path": "/auth/verify", "method": "GET", "headers": headers}
            rounds[mode].append(asyncio.run(timed(apps[mode], notes, scope, requests)))
    return rounds


def summarised(rounds: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Reduce rounds to medians."""
    base = rounds["uncounted"]
    return [
        {
            "mode": mode,
            "us": round(statistics.median(times), 2),
            "added_us": round(statistics.median(map(sub, times, base)), 2),
            "ratio": round(statistics.median(map(truediv, times, base)), 3),
        }
        for mode, times in rounds.items()
    ]


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="requests in a turn")
    options = parser.parse_args()
    configure_logging(LogFormat.JSON, "critical")
    rows = summarised(measure(options.rounds, options.requests))
    sys.stdout.writelines(json.dumps(row) + "\n" for row in rows)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(described() | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
