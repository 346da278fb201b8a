"""A load generator for ``verify_bench.py``: closed loop, keep-alive, as little Python as possible.

Each connection has one request in flight. Requests are made before the clock starts and look like
Traefik's, each with a token of its own, so that look-ups do not hit one warm entry; with ``--traced`` they
look like those of a Traefik that keeps every trace. One line of JSON on stdout gives requests per second,
latency percentiles and the share of a core that this program used itself: near one, it may be what is
measured. Any answer but 200 is an error.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop
from typing_extensions import override

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from verify_server import PUBLIC_HOST, tokens

from bench_machine import cpu_seconds
from privatellm.names import slug_of

PREPARED = 20_000
OK = b"HTTP/1.1 200 "
END = b"\r\n\r\n"


def request_of(token: str, slug: str, more: str = "") -> bytes:
    """Return a ForwardAuth request with the headers that Traefik 3.7 sends for an OpenAI client's.

    Args:
        token: The client's key.
        slug: The instance that it asks.
        more: Lines of further headers.
    """
    return (
        "GET /auth/verify HTTP/1.1\r\n"
        "Host: 127.0.0.1:8090\r\n"
        "User-Agent: OpenAI/Python 2.8.0\r\n"
        "Accept: application/json\r\n"
        "Accept-Encoding: gzip, deflate\r\n"
        f"Authorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
        "X-Forwarded-For: 192.0.2.7\r\n"
        f"X-Forwarded-Host: {PUBLIC_HOST}\r\n"
        "X-Forwarded-Method: POST\r\n"
        "X-Forwarded-Port: 443\r\n"
        "X-Forwarded-Proto: https\r\n"
        "X-Forwarded-Server: edge-0\r\n"
        f"X-Forwarded-Uri: /llm/{slug}/v1/chat/completions\r\n"
        "X-Real-Ip: 192.0.2.7\r\n"
        f"{more}\r\n"
    ).encode()


def traceparent(number: int) -> str:
    """Return the header of a trace that is kept, as a line."""
    return f"Traceparent: 00-{number:032x}-{number:016x}-01\r\n"


def requests(count: int, *, traced: bool) -> list[bytes]:
    """Return requests with tokens drawn from ``count`` ones."""
    known = [
        request_of(token.reveal(), slug_of(uid), traceparent(number) if traced else "")
        for number, (token, uid) in enumerate(tokens(count), start=1)
    ]
    chosen = random.Random(0).choices(known, k=PREPARED)  # noqa: S311 - repeatable, not secret
    return list(map(bytes, chosen))


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the last was answered."""

    def __init__(self, supply: Iterator[bytes], latencies: list[float]) -> None:
        self._supply = supply
        self._latencies = latencies
        self._sent = 0.0
        self.errors = 0
        self.transport: asyncio.Transport

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._send()

    @override
    def data_received(self, data: bytes) -> None:
        self._latencies.append(time.perf_counter() - self._sent)
        # Answers are small and have no body, so each arrives whole.
        if not (data.startswith(OK) and data.endswith(END)):
            self.errors += 1
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self.transport.write(next(self._supply))


def own_cpu_seconds() -> float:
    """Return the processor time that this program has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def run(arguments: argparse.Namespace) -> dict[str, float]:
    """Load a server and return figures."""
    server, port, seconds = arguments.server, arguments.port, arguments.seconds
    supply = itertools.cycle(requests(arguments.tokens, traced=arguments.traced))
    latencies: list[float] = []
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: Connection(supply, latencies), "127.0.0.1", port))[1]
        for _ in range(arguments.connections)
    ]
    await asyncio.sleep(seconds / 10)  # Warm up.
    latencies.clear()
    own, spent, started = own_cpu_seconds(), cpu_seconds(server), time.perf_counter()
    await asyncio.sleep(seconds)
    elapsed, spent = time.perf_counter() - started, cpu_seconds(server) - spent
    own = own_cpu_seconds() - own
    taken = sorted(latencies)
    for client in clients:
        client.transport.abort()
    return {
        "rps": len(taken) / elapsed,
        "cpu": spent / len(taken) * 1e6,
        "p50": taken[len(taken) // 2] * 1000,
        "p99": taken[len(taken) * 99 // 100] * 1000,
        "generator": own / elapsed,
        "errors": sum(client.errors for client in clients),
    }


def main() -> None:
    """Load one server from one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=int, required=True, help="the server's process id")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--traced", action="store_true", help="send headers of kept traces")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    figures = uvloop.run(run(arguments))
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
