"""What the load of the edge's bench counts as an error or as stale, of servers that close connections."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import repeat

import pytest

from bench_client import Client, Order, Taken
from eventually import eventually

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"
CUT = HEAD + b"Content-Length: 20\r\n\r\n{}"
LAST = HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
STREAM = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DONE = b"e\r\ndata: [DONE]\n\n\r\n"
END = b"0\r\n\r\n"


class Server:
    """Gives each connection's requests these answers, one each, and closes it behind the last.

    A late one closes when it has read one request more: one that was under way when the server closed.
    """

    def __init__(self, answers: Iterable[bytes], *, late: bool = False) -> None:
        self._answers, self._late = answers, late
        self.connections = 0
        self.answered: list[float] = []
        self.dropped: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            for answer in self._answers:
                await reader.readuntil(b"}")
                self.answered.append(time.perf_counter())
                writer.write(answer)
            if self._late:
                await reader.readuntil(b"}")
                self.dropped.append(time.perf_counter())
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def asking(server: Server, *, stream: bool = False) -> AsyncIterator[Taken]:
    """Let one client ask a server for the length of the block; yield what it notes."""
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    body = json.dumps({"stream": True}) if stream else "{}"
    taken = Taken(wanted=3, counting=True)
    client = asyncio.create_task(
        Client(Order("127.0.0.1", port, "/v1/x", "key", body, 1, 1.0), taken).ask()
    )
    try:
        yield taken
    finally:
        # What is asked at the end is cut off by the client.
        taken.counting = False
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        listener.close()
        await everybody_else()


async def everybody_else() -> None:
    """Wait for the ends of connections that were accepted, which the server does not wait for."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.gather(*others, return_exceptions=True)


async def seen(of: Callable[[], bool]) -> None:
    """Wait for a condition that is looked at without waiting."""

    async def look() -> bool:
        return of()

    await eventually(look, within=10)


async def test_a_connection_that_is_cut_within_an_answer_is_an_error_and_is_opened_again() -> None:
    """However much of the answer came."""
    server = Server([CUT])

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert server.connections >= 3
    assert taken.whole == []


async def test_a_connection_that_is_closed_without_an_answer_is_an_error() -> None:
    """Its request was asked for nothing."""
    server = Server([b""])

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert taken.whole == []


async def test_a_stream_that_ends_before_its_last_chunk_is_an_error() -> None:
    """Even behind its last event: a client cannot know that nothing follows."""
    server = Server([STREAM + DONE])

    async with asking(server, stream=True) as taken:
        await seen(lambda: taken.errors >= 3)

    assert taken.whole == []


async def test_a_whole_stream_without_its_last_event_is_an_error() -> None:
    """The model's answer is not whole, whatever HTTP says."""
    server = Server(repeat(STREAM + END))

    async with asking(server, stream=True) as taken:
        await seen(lambda: taken.errors >= 3)

    assert (server.connections, taken.whole) == (1, [])


@pytest.mark.parametrize("answer", [WHOLE, LAST], ids=["without a word", "announced"])
async def test_a_close_behind_a_whole_answer_is_no_error(answer: bytes) -> None:
    """The next request takes another connection."""
    server = Server([answer])

    async with asking(server) as taken:
        await seen(taken.enough.is_set)

    assert server.connections >= 3
    assert taken.errors == 0


@pytest.mark.parametrize("stream", [False, True], ids=["answer", "stream"])
async def test_a_request_that_meets_a_closed_connection_is_stale_and_sent_once_more(
    stream: bool,
) -> None:
    """On a new connection, and nothing of it is an error: llama.cpp closes behind each stream."""
    server = Server([STREAM + DONE + END if stream else WHOLE], late=True)

    async with asking(server, stream=stream) as taken:
        await seen(taken.enough.is_set)

    assert taken.errors == 0
    assert taken.stale >= 2


async def test_the_latency_of_a_stale_request_is_that_of_both_attempts() -> None:
    """Whoever asked waited for both."""
    server = Server([WHOLE], late=True)

    async with asking(server) as taken:
        await seen(taken.enough.is_set)

    assert taken.whole[1] >= server.answered[1] - server.dropped[0]


async def test_a_request_is_stale_once_and_then_an_error() -> None:
    """Whoever closes a new connection does not answer."""
    server = Server(iter([WHOLE]), late=True)

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert (len(taken.whole), taken.stale) == (1, 1)


async def test_a_kept_connection_that_is_cut_within_an_answer_is_an_error() -> None:
    """The server has heard the request, so it has no right to close there."""
    server = Server([WHOLE, CUT])

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert taken.stale == 0


async def test_a_connection_is_kept_for_as_long_as_the_server_keeps_it() -> None:
    """What is measured is requests, not connections."""
    server = Server(repeat(STREAM + DONE + END))

    async with asking(server, stream=True) as taken:
        await seen(taken.enough.is_set)

    assert (server.connections, taken.errors) == (1, 0)
