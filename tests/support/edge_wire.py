"""Requests in raw bytes: what an attacker sends, and no client library would."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

ANSWER_SECONDS = 15.0
LONGEST_ANSWER = 2**20


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; a connection that was closed without an answer has the status 0."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def values(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def code(self) -> str:
        """The code in an OpenAI error object; empty when there is none."""
        try:
            content: Any = json.loads(self.body)
        except ValueError:
            return ""
        return str(content.get("error", {}).get("code", "")) if isinstance(content, dict) else ""


CLOSED = Answer(0)


class Connection:
    """One connection to the edge."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, host: str, port: int) -> "Connection":
        """Connect."""
        return cls(*await asyncio.open_connection(host, port, limit=LONGEST_ANSWER))

    async def send(self, raw: bytes) -> None:
        """Send bytes; an edge that has hung up already is none of our business."""
        try:
            self.writer.write(raw)
            await self.writer.drain()
        except ConnectionError:
            return

    async def answer(self, method: str = "GET") -> Answer:
        """Read one answer to a request of this method."""
        async with asyncio.timeout(ANSWER_SECONDS):
            try:
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except (asyncio.IncompleteReadError, ConnectionError):
                return CLOSED
            lines = head.rstrip("\r\n").split("\r\n")
            pairs = tuple((n, v.strip()) for n, _, v in (line.partition(":") for line in lines[1:]))
            found = Answer(int(lines[0].split(" ")[1]), pairs)
            body = b"" if method == "HEAD" else await self._body(found)
            return Answer(found.status, pairs, body)

    async def _body(self, head: Answer) -> bytes:
        lengths = head.values("Content-Length")
        try:
            if lengths:
                return await self.reader.readexactly(int(lengths[0]))
            if "close" in [value.lower() for value in head.values("Connection")]:
                return await self.reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        return b""

    def close(self) -> None:
        """Hang up."""
        self.writer.close()


def request(method: str, target: str, *lines: str, body: bytes = b"") -> bytes:
    """Return a request of HTTP/1.1 exactly as it is given; no header is added."""
    head = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""])
    return head.encode("latin-1") + body


async def exchange(host: str, port: int, raw: bytes) -> Answer:
    """Send bytes on a connection of their own and return the first answer."""
    connection = await Connection.open(host, port)
    try:
        await connection.send(raw)
        return await connection.answer(raw.partition(b" ")[0].decode("latin-1"))
    finally:
        connection.close()
