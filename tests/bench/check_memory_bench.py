"""What a pod of the ForwardAuth service takes when nobody asks: memory, processor time, start, by keys.

Run ``python tests/bench/check_memory_bench.py --json FILE``. The service is started as a deployment starts
it, a supervisor and its workers, and fills its index from the list of an API server that this program
plays: what an API server with 100 000 Secrets needs itself is not the question. Memory is each process's
share of the pages that it maps (PSS), so that what processes share counts once. Every number of keys is
measured with the default number of workers, and the largest with one worker more, because each has an
index of its own.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import auth_service
from auth_api_server import api_server
from auth_world import make_key
from bench_machine import cpu_seconds, described, family, memory_mb
from privatellm_authserver.settings import Settings

KEYS = (1_000, 10_000, 100_000)
KEYS_OF_AN_INSTANCE = 10
DEFAULT_WORKERS: int = Settings.model_fields["workers"].default
SECONDS = 20.0
SETTLING_SECONDS = 3.0
START_SECONDS = 300.0
WANTED_MB = 200.0
WANTED_SHARE = 0.02


@dataclass(frozen=True)
class Row:
    """What was measured with one number of keys and of workers.

    Attributes:
        keys: How many keys.
        workers: How many workers.
        ready_seconds: From the start of the service until it may be asked.
        memory_mb: Memory of all its processes.
        cpu_share: Their processor time at rest, as a share of one core.
    """

    keys: int
    workers: int
    ready_seconds: float
    memory_mb: float
    cpu_share: float


async def measure(count: int, workers: int, seconds: float, directory: Path) -> Row:
    """Start the service with so many keys and workers, and leave it alone."""
    async with api_server() as api:
        for number in range(count):
            secret = make_key(f"uid-{number // KEYS_OF_AN_INSTANCE}").secret
            secret["metadata"] |= {"resourceVersion": "1", "uid": f"secret-{number}"}
            api.secrets[secret["metadata"]["name"]] = secret
        kubeconfig = api.write_kubeconfig(directory / "kubeconfig")
        variables = auth_service.environment_for(kubeconfig, directory)
        variables |= {"PRIVATE_LLM_WORKERS": str(workers)}
        began = time.monotonic()
        log = directory / "log"
        async with auth_service.running(variables, log, within=START_SECONDS) as service:
            ready = time.monotonic() - began
            await asyncio.sleep(SETTLING_SECONDS)
            pids = tuple(family(service.process.pid))
            before = sum(map(cpu_seconds, pids))
            await asyncio.sleep(seconds)
            share = (sum(map(cpu_seconds, pids)) - before) / seconds
            return Row(count, workers, ready, sum(map(memory_mb, pids)), share)


def write_row(row: Row, out: TextIO) -> None:
    """Write what came of one number of keys."""
    out.write(
        f"{row.keys:7} keys, workers {row.workers}: {row.memory_mb:.0f} MB   "
        f"(under {WANTED_MB:g} at 100 000 with {DEFAULT_WORKERS}), "
        f"{row.cpu_share:.2%} of a core   (under {WANTED_SHARE:.0%}), "
        f"ready after {row.ready_seconds:.1f} s\n"
    )


def report(rows: list[Row], seconds: float) -> dict[str, Any]:
    """Return everything as plain data."""
    told = [asdict(row) for row in rows]
    return {**described(), "workers": DEFAULT_WORKERS, "seconds": seconds, "rows": told}


def cases(keys: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield numbers of keys and of workers."""
    for count in keys:
        yield count, DEFAULT_WORKERS
    yield max(keys), DEFAULT_WORKERS + 1


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--keys", type=int, nargs="+", default=KEYS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="seconds of idleness")
    options = parser.parse_args()
    rows = []
    for count, workers in cases(options.keys):
        with tempfile.TemporaryDirectory(prefix="private-llm-bench-") as name:
            rows.append(asyncio.run(measure(count, workers, options.seconds, Path(name))))
        write_row(rows[-1], sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(rows, options.seconds), indent=2) + "\n")


if __name__ == "__main__":
    main()
