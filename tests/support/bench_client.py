"""The client of ``edge_bench.py``: closed loop, keep-alive, with as little Python as possible.

Each connection has one request in flight. A latency is the time from writing a request until its answer
is complete; of a stream the time until the first bytes of its body is noted as well. What counts is what
ended inside the measured seconds. Any answer but 200, a stream without its last event, and a connection
that is lost before its request was answered whole is an error. A server may close a connection behind a
whole answer, as HTTP/1.1 lets it: the next request takes another one, as any client's does.

llama.cpp closes behind every stream and does not announce it, so a request that follows at once may be
under way already. A request that a kept connection is lost under before any byte of an answer came is
``stale``: it is sent once more on a new connection, as OpenAI's clients do, and its latency is that of both
together. It is counted apart, because a proxy that keeps such connections fails there instead.
"""

import asyncio
import contextlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field

import httptools
from typing_extensions import override

OK = 200
LAST_EVENT = b"[DONE]"
WARM_UP_SECONDS = 0.5
LONGEST = 5
"""How many times its seconds a turn may last until each connection had an answer, on average."""

PAUSE_AFTER_FAILURE = 0.01
"""Seconds until a connection that was refused is tried again."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to do.

    Attributes:
        host: Where to connect.
        port: The port.
        path: Path of the chat completions.
        key: The bearer token.
        body: The request's body.
        connections: Requests in flight.
        seconds: How long, after a short while that does not count.
    """

    host: str
    port: int
    path: str
    key: str = field(repr=False)
    body: str
    connections: int
    seconds: float

    @property
    def request(self) -> bytes:
        """The bytes of a request."""
        body = self.body.encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.key}\r\nContent-Type: application/json\r\n"
            f"User-Agent: OpenAI/Python 2.8.0\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    @property
    def is_stream(self) -> bool:
        """Whether a stream is asked for."""
        return bool(json.loads(self.body).get("stream"))


@dataclass(slots=True)
class Taken:
    """What was noted, in seconds; only while ``counting``.

    Attributes:
        wanted: Answers after which ``enough`` is set.
        stale: Requests that met a connection which the server had closed, and were sent once more.
    """

    wanted: int
    counting: bool = False
    whole: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    errors: int = 0
    stale: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, whole: float, first: float) -> None:
        """Note an answer."""
        self.whole.append(whole)
        self.first.append(first)
        if len(self.whole) == self.wanted:
            self.enough.set()


class Client(asyncio.Protocol):
    """Sends the next request as soon as the last was answered, on another connection if it must."""

    def __init__(self, order: Order, taken: Taken) -> None:
        self._order = order
        self._request, self._is_stream = order.request, order.is_stream
        self._taken = taken
        # When the request was sent first that is not answered yet; 0 when there is none.
        self._sent = self._began = 0.0
        self._is_kept = self._heard = False
        self._lost = asyncio.Event()
        self._tail = b""
        self._parser: httptools.HttpResponseParser
        self._transport: asyncio.Transport

    async def ask(self) -> None:
        """Ask until cancelled, on one connection after the other."""
        loop = asyncio.get_running_loop()
        while True:
            self._lost.clear()
            try:
                await loop.create_connection(lambda: self, self._order.host, self._order.port)
            except OSError:
                self._fail()
                await asyncio.sleep(PAUSE_AFTER_FAILURE)
                continue
            try:
                await self._lost.wait()
            finally:
                self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._parser = httptools.HttpResponseParser(self)
        self._is_kept = False
        self._send()

    @override
    def data_received(self, data: bytes) -> None:
        self._heard = True
        self._parser.feed_data(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Count a request that was not answered whole, and begin anew."""
        if self._sent and self._is_kept and not self._heard:
            self._taken.stale += self._taken.counting
        elif self._sent:
            self._fail()
        self._lost.set()

    def _fail(self) -> None:
        self._taken.errors += self._taken.counting
        self._sent = 0.0

    def _send(self) -> None:
        self._heard, self._began, self._tail = False, 0.0, b""
        self._sent = self._sent or time.perf_counter()
        self._transport.write(self._request)

    def on_body(self, body: bytes) -> None:
        """Note when the first bytes came, and keep the last ones."""
        self._began = self._began or time.perf_counter()
        self._tail = (self._tail + body)[-32:]

    def on_message_complete(self) -> None:
        """Note how long it took, and go on."""
        taken = self._taken
        whole = not self._is_stream or LAST_EVENT in self._tail
        if taken.counting and whole and self._parser.get_status_code() == OK:
            taken.note(time.perf_counter() - self._sent, self._began - self._sent)
        else:
            self._fail()
        self._sent, self._is_kept = 0.0, True
        if self._parser.should_keep_alive():
            # Not from within the parser, which is not ready for the next answer yet; and not before the
            # loop looked at the socket again, as clients look whether the server has closed it.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._next, self._transport)
        else:
            self._transport.close()

    def _next(self, transport: asyncio.Transport) -> None:
        if not transport.is_closing():
            self._parser = httptools.HttpResponseParser(self)
            self._send()


def counted(seconds: list[float]) -> dict[str, int]:
    """Return how often each latency was seen, in microseconds of three digits, which are enough."""
    return Counter(f"{1e6 * one:.3g}" for one in seconds)


async def load(order: Order) -> dict[str, object]:
    """Do it, and return what was noted."""
    taken = Taken(wanted=order.connections)
    clients = [asyncio.create_task(Client(order, taken).ask()) for _ in range(order.connections)]
    await asyncio.sleep(WARM_UP_SECONDS)
    taken.counting = True
    began, spent = time.perf_counter(), time.process_time()
    await asyncio.sleep(order.seconds)
    # Whoever is so slow that a turn sees few answers is waited for, or only its quickest ones would count.
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(taken.enough.wait(), (LONGEST - 1) * order.seconds)
    taken.counting = False
    elapsed, spent = time.perf_counter() - began, time.process_time() - spent
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return {
        "seconds": elapsed,
        "whole": counted(taken.whole),
        "first": counted(taken.first),
        "errors": taken.errors,
        "stale": taken.stale,
        "generator": spent / elapsed,
    }
