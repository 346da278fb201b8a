"""A server that answers every question with the same raw bytes, piece by piece, on a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

TURNS = 20
"""Turns of the event loop between two pieces, in which whoever asked takes in what has arrived."""


@dataclass
class RawServer:
    """What listens at a port of 127.0.0.1.

    Attributes:
        pieces: What it sends.
        closes: Whether it then closes the connection, or falls silent.
        questions: The heads of the requests that it was sent.
    """

    pieces: tuple[bytes, ...]
    closes: bool = True
    port: int = 0
    questions: list[str] = field(default_factory=list)
    _busy: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self._busy.add(asyncio.create_task(self._answer(reader, writer)))

    async def end(self) -> None:
        """End the connections that are left."""
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read the head of one request and answer it."""
        with suppress(ConnectionError):
            try:
                self.questions.append((await reader.readuntil(b"\r\n\r\n")).decode())
                for piece in self.pieces:
                    writer.write(piece)
                    for _ in range(TURNS):
                        await asyncio.sleep(0)
                if not self.closes:
                    await asyncio.Event().wait()
            finally:
                writer.close()
                await writer.wait_closed()


@asynccontextmanager
async def answering(*pieces: bytes, closes: bool = True) -> AsyncIterator[RawServer]:
    """Run a server that sends these pieces."""
    raw = RawServer(pieces, closes)
    server = await asyncio.start_server(raw.accept, "127.0.0.1", 0)
    async with server:
        raw.port = server.sockets[0].getsockname()[1]
        try:
            yield raw
        finally:
            await raw.end()


def head(length: int, *lines: str, status: str = "200 OK") -> bytes:
    """Return the head of an answer that promises so many bytes."""
    fields = (f"HTTP/1.1 {status}", "Connection: close", f"Content-Length: {length}", *lines)
    return "".join(f"{line}\r\n" for line in (*fields, "")).encode()


def in_pieces(body: bytes, *, sent: int | None = None) -> tuple[bytes, ...]:
    """Return an answer in three pieces: its head with a few bytes, and two more.

    Args:
        body: What the head promises.
        sent: How many bytes of it are sent; all of them when not given.
    """
    start, middle = 10, (10 + len(body)) // 2
    told = body[:sent]
    return head(len(body)) + told[:start], told[start:middle], told[middle:]
