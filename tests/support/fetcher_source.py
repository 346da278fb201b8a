"""A real HTTP source for the fetcher's tests, whose misbehaviour is scripted.

Each request is answered by the next entry of the script, or served properly when the script is
empty. What was asked is recorded, so that tests can tell a resumed download from a second one.
"""

import hashlib
import http.server
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TypeAlias

from typing_extensions import override


class Exchange(http.server.BaseHTTPRequestHandler):
    """One request and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

    def do_GET(self) -> None:
        """Record the request and answer it by the script."""
        source = self.server.source
        source.requests.append(Asked(self.path, dict(self.headers.items())))
        self.close_connection = True
        answer = source.script.pop(0) if source.script else serve
        answer(self, source)

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    path: str
    headers: dict[str, str]

    @property
    def range(self) -> str | None:
        """The part that was asked for."""
        return self.headers.get("Range")

    @property
    def authorization(self) -> str | None:
        """The credential that was shown."""
        return self.headers.get("Authorization")


@dataclass
class HttpSource:
    """A file behind HTTP."""

    content: bytes = field(repr=False)
    etag: str | None = '"v1"'
    script: "list[Answer]" = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def sha256(self) -> str:
        """Digest of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def ranges(self) -> list[str | None]:
        """The parts that were asked for, in order."""
        return [asked.range for asked in self.requests]

    def headers(self) -> dict[str, str]:
        """Headers that describe the content."""
        return {} if self.etag is None else {"ETag": self.etag}


Answer: TypeAlias = Callable[[Exchange, HttpSource], None]


def serve(exchange: Exchange, source: HttpSource) -> None:
    """Answer as a good server does, ranges and If-Range included."""
    start = _start(exchange, source)
    if start is None:
        _whole(exchange, source, source.content)
    elif start >= len(source.content):
        total = {"Content-Range": f"bytes */{len(source.content)}", "Content-Length": "0"}
        exchange.begin(416, {**source.headers(), **total})
    else:
        _part(exchange, source, start, source.content[start:])


def _start(exchange: Exchange, source: HttpSource) -> int | None:
    wanted = re.fullmatch(r"bytes=(\d+)-", exchange.headers.get("Range", ""))
    condition = exchange.headers.get("If-Range")
    if wanted is None or condition not in {None, source.etag}:
        return None
    return int(wanted.group(1))


def _whole(exchange: Exchange, source: HttpSource, body: bytes) -> None:
    length = {"Content-Length": str(len(source.content))}
    exchange.begin(HTTPStatus.OK, {**source.headers(), **length})
    exchange.wfile.write(body)


def _part(exchange: Exchange, source: HttpSource, start: int, body: bytes) -> None:
    total = len(source.content)
    headers = {
        "Content-Range": f"bytes {start}-{total - 1}/{total}",
        "Content-Length": str(total - start),
    }
    exchange.begin(HTTPStatus.PARTIAL_CONTENT, {**source.headers(), **headers})
    exchange.wfile.write(body)


def cut(after: int) -> Answer:
    """Announce everything and break the connection after some bytes of the body."""

    def answer(exchange: Exchange, source: HttpSource) -> None:
        start = _start(exchange, source)
        if start is None:
            _whole(exchange, source, source.content[:after])
        else:
            _part(exchange, source, start, source.content[start : start + after])

    return answer


def status(code: int, **headers: str) -> Answer:
    """Answer with a status and an empty body."""

    def answer(exchange: Exchange, _source: HttpSource) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.begin(code, {"Content-Length": "0", **named})

    return answer


def redirect(location: str) -> Answer:
    """Send the client elsewhere."""
    return status(302, Location=location)


def without_ranges(exchange: Exchange, source: HttpSource) -> None:
    """Answer with the whole file whatever part was asked for."""
    _whole(exchange, source, source.content)


def without_conditions(exchange: Exchange, source: HttpSource) -> None:
    """Answer the part that was asked for, whatever If-Range says."""
    del exchange.headers["If-Range"]
    serve(exchange, source)


def without_length(exchange: Exchange, source: HttpSource) -> None:
    """Send the whole file in chunks, without telling its length."""
    exchange.begin(HTTPStatus.OK, {**source.headers(), "Transfer-Encoding": "chunked"})
    for at in range(0, len(source.content), 10_000):
        chunk = source.content[at : at + 10_000]
        exchange.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
    exchange.wfile.write(b"0\r\n\r\n")


def silent_after(count: int) -> Answer:
    """Send some bytes of the body and then nothing until the test ends."""

    def answer(exchange: Exchange, source: HttpSource) -> None:
        cut(count)(exchange, source)
        exchange.wfile.flush()
        source.released.wait()

    return answer


class _Server(http.server.ThreadingHTTPServer):
    """A server that knows its source and leaves no thread behind."""

    daemon_threads = False

    def __init__(self, host: str, source: HttpSource, tls: ssl.SSLContext | None) -> None:
        super().__init__((host, 0), Exchange)
        self.source = source
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that leave early; the tests see that from the other side."""


@contextmanager
def running(
    source: HttpSource, *, host: str = "127.0.0.1", certificate: Path | None = None
) -> Iterator[HttpSource]:
    """Serve the source until the context ends.

    Args:
        source: what to serve.
        host: the loopback address to listen on.
        certificate: PEM file with key and certificate; None serves without TLS.
    """
    tls = None
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate)
    with _Server(host, source, tls) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        source.url = f"{server.scheme}://{host}:{server.server_port}/models/m.gguf"
        try:
            yield source
        finally:
            source.released.set()
            server.shutdown()
            thread.join()
