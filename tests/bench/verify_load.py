"""A load generator for ``verify_bench.py``: closed loop, keep-alive, as little Python as possible.

It asks several servers of one process in turns of a twentieth of a second, one at a time, many times over
and every time in another order: a machine that is faster in one second than in the next is so for all of
them. Each connection has one request in flight, and a turn ends when every request was answered and the
server has reported what it counted. Requests are made before the clock starts and look like Traefik's, each
with a token of its own, so that look-ups do not hit one warm entry;
those of a way with ``+traced`` look like those of a Traefik that keeps every trace. One line of JSON on
stdout gives for each way, turn by turn, requests per second and the server's processor time for a request;
of all turns latency percentiles and the share of a core that this program used itself: near one, it may be
what is measured. Any answer but 200 is an error.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import uvloop
from typing_extensions import override

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from verify_server import PUBLIC_HOST, tokens

from bench_machine import running_seconds
from privatellm.names import slug_of

PREPARED = 20_000
TURN_SECONDS = 0.05
TRACED = "+traced"
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


class Load(TypedDict):
    """What is told of one way.

    Attributes:
        rps: Requests a second, by turn.
        cpu: Microseconds of the server's processor time for a request, by turn.
        p50: Median of the latency in milliseconds.
        p99: Its 99th percentile.
        generator: Share of a core that this program used.
        errors: Answers that were not 200.
    """

    rps: list[float]
    cpu: list[float]
    p50: float
    p99: float
    generator: float
    errors: int


class Server:
    """The process that serves, as seen from here."""

    def __init__(
        self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._pid = pid
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, pid: int, port: int) -> "Server":
        """Open the connection for orders."""
        return cls(pid, *await asyncio.open_connection("127.0.0.1", port))

    def spent(self) -> float:
        """Return the processor time that it has used, in seconds."""
        return running_seconds(self._pid)

    async def report(self, application: str) -> None:
        """Let an application report what it counted."""
        self._writer.write(f"{application}\n".encode())
        await self._reader.readline()


class Lane:
    """The connections of one way of asking, and what was noted of it.

    Attributes:
        supply: Its requests.
        latencies: In seconds.
        errors: Answers that were not 200.
    """

    def __init__(self, application: str, supply: Iterator[bytes]) -> None:
        self.supply = supply
        self.latencies: list[float] = []
        self.errors = 0
        self.is_open = False
        self._application = application
        self._rps: list[float] = []
        self._cpu: list[float] = []
        self._elapsed = self._own = 0.0
        self._connections: list[Connection] = []
        self._busy = 0
        self._rested = asyncio.Event()

    async def connect(self, port: int, connections: int) -> None:
        """Open the connections, which are silent until the first turn."""
        loop = asyncio.get_running_loop()
        self._connections = [
            (await loop.create_connection(lambda: Connection(self), "127.0.0.1", port))[1]
            for _ in range(connections)
        ]

    async def turn(self, server: Server) -> None:
        """Ask for a while, and note it."""
        own, spent, began = time.process_time(), server.spent(), time.perf_counter()
        before = len(self.latencies)
        await self._ask()
        elapsed, answers = time.perf_counter() - began, len(self.latencies) - before
        await server.report(self._application)
        self._rps.append(answers / elapsed)
        self._cpu.append((server.spent() - spent) / answers * 1e6)
        self._elapsed += elapsed
        self._own += time.process_time() - own

    async def _ask(self) -> None:
        self.is_open, self._busy = True, len(self._connections)
        self._rested.clear()
        for connection in self._connections:
            connection.send()
        await asyncio.sleep(TURN_SECONDS)
        self.is_open = False
        await self._rested.wait()

    def rest(self) -> None:
        """Note that one connection has its last answer of this turn."""
        self._busy -= 1
        if not self._busy:
            self._rested.set()

    def forget(self) -> None:
        """Begin anew: what was noted so far was to warm up."""
        for noted in (self.latencies, self._rps, self._cpu):
            noted.clear()
        self._elapsed = self._own = 0.0

    def told(self) -> Load:
        """Return what was noted."""
        taken = sorted(self.latencies)
        return {
            "rps": self._rps,
            "cpu": self._cpu,
            "p50": taken[len(taken) // 2] * 1000,
            "p99": taken[len(taken) * 99 // 100] * 1000,
            "generator": self._own / self._elapsed,
            "errors": self.errors,
        }


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the last was answered, while its lane has its turn."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._sent = 0.0
        self._transport: asyncio.Transport

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    @override
    def data_received(self, data: bytes) -> None:
        lane = self._lane
        lane.latencies.append(time.perf_counter() - self._sent)
        # Answers are small and have no body, so each arrives whole.
        if not (data.startswith(OK) and data.endswith(END)):
            lane.errors += 1
        if lane.is_open:
            self.send()
        else:
            lane.rest()

    def send(self) -> None:
        """Ask."""
        self._sent = time.perf_counter()
        self._transport.write(next(self._lane.supply))


async def run(arguments: argparse.Namespace) -> dict[str, Load]:
    """Load the servers and return what is told, by way."""
    plain, traced = (requests(arguments.tokens, traced=traced) for traced in (False, True))
    lanes: dict[str, Lane] = {}
    for way in arguments.ways:
        name, application, port = way.split("=")
        supply = traced if port.endswith(TRACED) else plain
        lanes[name] = lane = Lane(application, itertools.cycle(supply))
        await lane.connect(int(port.removesuffix(TRACED)), arguments.connections)
    server = await Server.connect(arguments.server, arguments.orders)
    for lane in lanes.values():
        await lane.turn(server)
        lane.forget()
    order, chance = list(lanes.values()), random.Random(0)  # noqa: S311 - repeatable, not secret
    for _ in range(arguments.turns):
        chance.shuffle(order)
        for lane in order:
            await lane.turn(server)
    return {name: lane.told() for name, lane in lanes.items()}


def main() -> None:
    """Load servers from one core."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "ways", nargs="+", metavar=f"NAME=APPLICATION=PORT[{TRACED}]", help="whom to ask, how"
    )
    parser.add_argument("--server", type=int, required=True, help="the servers' process id")
    parser.add_argument("--orders", type=int, required=True, help="the port where it takes orders")
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--turns", type=int, required=True, help="of each way")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    sys.stdout.write(json.dumps(uvloop.run(run(arguments))) + "\n")


if __name__ == "__main__":
    main()
