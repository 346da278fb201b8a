"""Where the operator asks how far a fetch is, and why it tries again.

The operator puts percentage and speed into the instance's condition. Reading them from the pod's log
would take the right ``pods/log``, which cannot be limited to our pods and so would open every customer's
logs; and a termination message exists only after the end. So the fetcher answers one GET with the last
progress or failure it logged, on a port of its own that the NetworkPolicy opens for the operator's
namespace alone.

It is a courtesy: when the port cannot be had, the fetch goes on without it. The answer is never believed
beyond being shown, and nothing is read from a request but its first line.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any

from typing_extensions import override

from privatellm_operator.fetcher.progress import Log

SHOWN = frozenset({"progress", "retry"})
"""Events that are shown; each says how many bytes are there, and a retry in `message` what failed."""

REQUEST_SECONDS = 5.0
"""Longest time that one question may take."""

LOOK_SECONDS = 0.05
"""How often the server looks whether the fetch is over; the init container ends that much later."""


@contextmanager
def shown(address: tuple[str, int] | None, log: Log) -> Iterator[Log]:
    """Yield a log whose last progress, or failure that is tried again, can be asked for at an address.

    Args:
        address: IP address and port; ``None`` shows nothing.
        log: Where every event goes as well.
    """
    board = _Board()
    try:
        server = _server(address, board) if address else None
    except OSError as error:
        log("progress not shown", message=str(error))
        server = None
    if server is None:
        yield log
        return
    thread = threading.Thread(target=server.serve_forever, args=(LOOK_SECONDS,), daemon=True)
    thread.start()
    try:
        yield _both(board, log)
    finally:
        server.shutdown()
        server.server_close()


class _Board:
    """The fields of the last event worth showing; replaced as a whole, so that threads need no lock."""

    def __init__(self) -> None:
        self.fields: Mapping[str, Any] = {}


def _both(board: _Board, log: Log) -> Log:
    def noted(event: str, **fields: Any) -> None:
        if event in SHOWN:
            board.fields = fields
        log(event, **fields)

    return noted


def _server(address: tuple[str, int], board: _Board) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            body = json.dumps(board.fields).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Keep the fetch's own log free of questions."""

    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in address[0] else AF_INET
        daemon_threads = True

    return Server(address, Handler)
