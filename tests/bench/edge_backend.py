"""A model server that answers as fast as it can, so that what stands in front of it is what is measured.

It speaks just enough HTTP/1.1 and OpenAI: ``POST .../chat/completions`` with its key gives a completion of
one length, at once or as a stream of events that are written one by one; any other key gives 401. One
line of JSON on stdout says where it listens.
"""

import argparse
import asyncio
import json
import sys

import httptools
import uvloop
from typing_extensions import override

EVENTS = 32
"""Events of a stream before the last one."""

WORDS = "The quick brown fox jumps over the lazy dog and runs away. " * 4


def _object(kind: str, choice: dict[str, object]) -> bytes:
    body = {"id": "chatcmpl-0", "object": kind, "created": 1, "model": "fast", "choices": [choice]}
    return json.dumps(body).encode()


def _event(number: int) -> bytes:
    delta = {"role": "assistant", "content": f"word-{number} "}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return _chunk(b"data: %s\n\n" % _object("chat.completion.chunk", choice))


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


_MESSAGE = {"role": "assistant", "content": WORDS}
_BODY = _object("chat.completion", {"index": 0, "message": _MESSAGE, "finish_reason": "stop"})
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_BODY),
    _BODY,
)
REFUSAL = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
STREAM = (
    STREAM_HEAD + _event(0),
    *(_event(number) for number in range(1, EVENTS)),
    _chunk(
        b"data: %s\n\n"
        % _object("chat.completion.chunk", {"index": 0, "delta": {}, "finish_reason": "stop"})
    ),
    _chunk(b"data: [DONE]\n\n") + _chunk(b""),
)


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self, key: str) -> None:
        self._wanted = f"Bearer {key}".encode()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._body = b""
        self._allowed = False

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        """Forget the last request."""
        self._body, self._allowed = b"", False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Look at the key."""
        self._allowed |= name.lower() == b"authorization" and value == self._wanted

    def on_body(self, body: bytes) -> None:
        """Keep the body, which says whether a stream is wanted."""
        self._body += body

    def on_message_complete(self) -> None:
        """Answer."""
        if not self._allowed:
            self._transport.write(REFUSAL)
        elif b'"stream":true' in self._body.replace(b" ", b""):
            self._tell(0)
        else:
            self._transport.write(ANSWER)

    def _tell(self, number: int) -> None:
        """Write one event and come back for the next, so that each travels alone."""
        if self._transport.is_closing():
            return
        self._transport.write(STREAM[number])
        if number + 1 < len(STREAM):
            asyncio.get_running_loop().call_soon(self._tell, number + 1)


async def serve(host: str, port: int, key: str) -> None:
    """Serve until killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(key), host, port, backlog=1024)
    where = server.sockets[0].getsockname()
    sys.stdout.write(json.dumps({"host": where[0], "port": where[1]}) + "\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Serve one address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    # The key comes by standard input: command lines are for everybody to read.
    uvloop.run(serve(arguments.host, arguments.port, sys.stdin.readline().strip()))


if __name__ == "__main__":
    main()
