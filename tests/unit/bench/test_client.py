"""What the load of the edge's bench counts as an error, against servers that close connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

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
    """Gives one answer to each request, and closes the connection behind a number of them."""

    def __init__(self, answer: bytes, closes_after: int) -> None:
        self._answer, self._closes_after = answer, closes_after
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            for _ in range(self._closes_after):
                await reader.readuntil(b"}")
                writer.write(self._answer)
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
    server = Server(CUT, closes_after=1)

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert server.connections >= 3
    assert taken.whole == []


async def test_a_connection_that_is_closed_without_an_answer_is_an_error() -> None:
    """Its request was asked for nothing."""
    server = Server(b"", closes_after=1)

    async with asking(server) as taken:
        await seen(lambda: taken.errors >= 3)

    assert taken.whole == []


async def test_a_stream_that_ends_before_its_last_chunk_is_an_error() -> None:
    """Even behind its last event: a client cannot know that nothing follows."""
    server = Server(STREAM + DONE, closes_after=1)

    async with asking(server, stream=True) as taken:
        await seen(lambda: taken.errors >= 3)

    assert taken.whole == []


async def test_a_whole_stream_without_its_last_event_is_an_error() -> None:
    """The model's answer is not whole, whatever HTTP says."""
    server = Server(STREAM + END, closes_after=10**6)

    async with asking(server, stream=True) as taken:
        await seen(lambda: taken.errors >= 3)

    assert (server.connections, taken.whole) == (1, [])


@pytest.mark.parametrize("answer", [WHOLE, LAST], ids=["without a word", "announced"])
async def test_a_close_behind_a_whole_answer_is_no_error(answer: bytes) -> None:
    """The next request takes another connection."""
    server = Server(answer, closes_after=1)

    async with asking(server) as taken:
        await seen(taken.enough.is_set)

    assert server.connections >= 3
    assert taken.errors == 0


async def test_a_connection_is_kept_for_as_long_as_the_server_keeps_it() -> None:
    """What is measured is requests, not connections."""
    server = Server(STREAM + DONE + END, closes_after=10**6)

    async with asking(server, stream=True) as taken:
        await seen(taken.enough.is_set)

    assert (server.connections, taken.errors) == (1, 0)
