"""``privatellm-drain``: one route, and an end that comes after the model server's.

A pod's containers are told to end at the same time, but the server's hook asks us only then. So SIGTERM
means to stay for as long as the server listens; the kubelet's SIGKILL bounds that.
"""

import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from privatellm.draining import drain
from privatellm.errors import InvalidInputError
from privatellm_operator.drain.arguments import DrainSettings, parse_arguments
from privatellm_operator.drain.server_load import is_listening, read_load

DRAIN_PATH = "/drain"
LOOK_SECONDS = 0.5


class DrainHandler(BaseHTTPRequestHandler):
    """Answers ``GET /drain`` when nothing is in hand any more."""

    def __init__(self, settings: DrainSettings, *connection: Any) -> None:
        self._settings = settings
        super().__init__(*connection)

    def do_GET(self) -> None:
        """Wait, then answer."""
        if self.path != DRAIN_PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"Only GET {DRAIN_PATH} is served here.")
            return
        try:
            self._answer(HTTPStatus.OK, wait_until_quiet(self._settings))
        except InvalidInputError as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))

    def _answer(self, status: HTTPStatus, text: str) -> None:
        say(text)
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: what matters is said in words."""


class DrainServer(ThreadingHTTPServer):
    """Listens on the pod's address, of either family."""

    def __init__(self, settings: DrainSettings) -> None:
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.port), partial(DrainHandler, settings))


def wait_until_quiet(settings: DrainSettings) -> str:
    """Wait until edges have forgotten the pod and its server has nothing in hand; return why it ended."""
    say(f"waiting {settings.settle_seconds:g} s for edges, then for what the server has in hand")
    time.sleep(settings.settle_seconds)
    never = threading.Event()
    left = settings.grace_seconds - settings.settle_seconds
    return drain(partial(read_load, settings), never.wait, time.monotonic, left).value


def say(text: str) -> None:
    """Tell whoever reads the container's log."""
    sys.stderr.write(f"drain: {text}\n")
    sys.stderr.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, then for as long as the model server listens."""
    settings = parse_arguments(sys.argv[1:] if argv is None else argv)
    # Blocked before any thread starts and waited for, so that no thread takes it and none can miss it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with DrainServer(settings) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        say(f"listening on {settings.host}:{settings.port}")
        signal.sigwait({signal.SIGTERM})
        say("told to end; staying for as long as the server listens")
        while is_listening(settings):
            time.sleep(LOOK_SECONDS)
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
