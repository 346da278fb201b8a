"""What traces cost the check: processor time of a decision beside that of the application without them.

Run ``python tests/bench/tracing_bench.py``. Everything is called in one process without a socket, so the
ratios are larger than those of a whole request. Rounds of all modes alternate, and a ratio is the median of
the rounds' ratios.

* ``off``: what a worker builds when the environment names no collector;
* ``plain``: the application and audit log put together by hand, which knows of no traces: the baseline;
* ``none``: traces on, requests without a trace;
* ``dropped``: traces on, requests whose trace is not kept;
* ``kept``: traces on, every request's trace is kept (the limit of spans a second lifted).
"""

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm.telemetry.tracing import open_sink
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Scope, VerifyApp
from privatellm_authserver.audit import AuditLog, RateLimit
from privatellm_authserver.metrics import Meter
from privatellm_authserver.settings import Settings
from privatellm_authserver.traces import TracedApp, TracingAudit
from privatellm_authserver.worker import build_app

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from auth_world import PUBLIC_HOST, World, question_for
from telemetry_collector import grpc_collector

ROUNDS = 30
REQUESTS = 2_000
TRACE = b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-"
HEADERS = {
    "off": None,
    "plain": None,
    "none": None,
    "dropped": (b"traceparent", TRACE + b"00"),
    "kept": (b"traceparent", TRACE + b"01"),
}


async def measure(app: VerifyApp | TracedApp, scope: Scope) -> float:
    """Return the microseconds of processor time that a request takes."""

    async def receive() -> dict[str, str]:
        return {"type": "http.request"}

    async def send(_message: object) -> None:
        return None

    began = time.thread_time_ns()
    for _ in range(REQUESTS):
        await app(scope, receive, send)
    return (time.thread_time_ns() - began) / REQUESTS / 1000


def main() -> None:
    """Measure and print."""
    configure_logging(LogFormat.JSON, "critical")
    with grpc_collector() as collector:
        os.environ.update(collector.environment)
        spans = open_sink("bench", os.environ)
        assert spans is not None
        world = World()
        world.index.confirm(clocks.uptime())
        key = world.key()
        settings = Settings(public_host=PUBLIC_HOST, platform_key_file=Path("/not/read/here"))
        log = AuditLog()
        audit = TracingAudit(log)
        plain, noting = (VerifyApp(world.reader, world.index, Meter(), one) for one in (log, audit))
        traced = TracedApp(plain, noting, audit, spans, RateLimit(1e9))
        apps = {
            "off": build_app(settings, world.index, Meter(), None),
            "plain": VerifyApp(world.reader, world.index, Meter(), AuditLog()),
        }
        rounds: dict[str, list[float]] = {mode: [] for mode in HEADERS}
        for _ in range(ROUNDS):
            for mode, header in HEADERS.items():
                headers = [*question_for(key), *([header] if header else [])]
                scope = {
                    "type": "http",
                    "path": "/auth/verify",
                    "method": "GET",
                    "headers": headers,
                }
                rounds[mode].append(asyncio.run(measure(apps.get(mode, traced), scope)))
        spans.close()
    for mode, times in rounds.items():
        ratios = [one / base for one, base in zip(times, rounds["plain"], strict=True)]
        row = {
            "mode": mode,
            "us": round(statistics.median(times), 2),
            "ratio": round(statistics.median(ratios), 3),
        }
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
