"""A backend that records what reaches it: the only honest witness of what the edge passes on."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

OPEN_TO_BROWSERS = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Credentials", "true"),
    ("Access-Control-Allow-Methods", "*"),
    ("Access-Control-Allow-Headers", "*"),
)
"""What llama.cpp's server says to every browser."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived."""

    request_line: str
    headers: tuple[tuple[str, str], ...]

    @property
    def target(self) -> tuple[str, str]:
        """Method and path, query excluded."""
        method, target, _version = self.request_line.split(" ")
        return method, target.partition("?")[0]

    def values(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(slots=True)
class Recorder:
    """Answers every request with 200 and remembers it.

    Attributes:
        requests: What arrived, in this order.
        answer_headers: Further headers of every answer.
        open: While it is clear, requests are noted and their answers held back.
    """

    requests: list[Recorded] = field(default_factory=list)
    answer_headers: Iterable[tuple[str, str]] = OPEN_TO_BROWSERS
    open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(_parsed(head))
            await self.open.wait()
            writer.write(self._answer())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            # The edge gave up; what it had sent is noted, or was no request.
            pass
        finally:
            writer.close()

    def _answer(self) -> bytes:
        lines = [f"{name}: {value}\r\n" for name, value in self.answer_headers]
        head = f"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n{''.join(lines)}\r\n"
        return f"{head}ok".encode("latin-1")


def _parsed(head: str) -> Recorded:
    lines = head.rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:])
    return Recorded(lines[0], tuple((name, value.strip()) for name, _, value in pairs))


@asynccontextmanager
async def recording(host: str, port: int) -> AsyncIterator[Recorder]:
    """Run a recorder on an address of this machine."""
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, host, port)
    try:
        yield recorder
    finally:
        recorder.open.set()
        server.close()
        await server.wait_closed()
