"""How our HTTP servers run: uvicorn with httptools on uvloop, set up for an edge that keeps asking.

Traefik keeps two idle connections per authserver address for 90 seconds and opens more under load. So we
keep idle connections for longer than it does (otherwise we would close one that it is about to use), accept
quickly, and let many connections wait in the backlog meanwhile.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from typing_extensions import override

from privatellm.errors import InvalidInputError

BACKLOG: Final = 4096
"""Connections that may wait to be accepted; Linux caps it at net.core.somaxconn, 4096 by default."""

KEEP_ALIVE_SECONDS: Final = 120
"""How long an idle connection stays open; Go's clients keep theirs for 90 seconds."""

GRACE_SECONDS: Final = 5
"""How long running requests may take to finish once we stop."""


class Server(uvicorn.Server):
    """A uvicorn server that leaves signals to whoever started it; set ``should_exit`` to stop it."""

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(app: Any) -> Server:
    """Return a server for an ASGI application; run it with ``serve(sockets=[...])``.

    There is no access log (the audit log is the record), and only uvicorn's errors are logged, so that
    malformed requests cannot fill the log.
    """
    return Server(
        uvicorn.Config(
            app,
            interface="asgi3",
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        InvalidInputError: when the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidInputError(
            f"The address {host}:{port} cannot be listened on: {error.strerror}. "
            "Stop what uses it or choose another port."
        ) from error
