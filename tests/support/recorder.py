"""A backend that records what reaches it: the only honest witness of what the edge passes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived."""

    request_line: str
    headers: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(slots=True)
class Recorder:
    """Answers every request with 200 and remembers it."""

    requests: list[Recorded] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.rstrip("\r\n").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:])
        headers = tuple((name, value.strip()) for name, _, value in pairs)
        self.requests.append(Recorded(lines[0], headers))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def recording(host: str, port: int) -> AsyncIterator[Recorder]:
    """Run a recorder on an address of this machine."""
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, host, port)
    try:
        yield recorder
    finally:
        server.close()
        await server.wait_closed()
