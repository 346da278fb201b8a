"""The servers that ``verify_bench.py`` compares: one process, a port for each of several applications.

One process, because where its memory happens to lie makes a process some percent slower or faster for as
long as it lives: so all of them have the same luck, and the same index beside them.

``check`` is the authserver's own application on its own server, with an index that is filled directly, a
reporter and a supervisor (``verify_supervisor.py``) that takes its reports in; ``uncounted`` is the same
without metrics, and ``twin`` one more of that, ``traced`` is ``check`` with notes for traces; ``bare`` is
the same server giving the same answer without a check; ``fastapi`` is a plain FastAPI route with the same
check. One line of JSON on stdout says where they listen and how much memory the process took at most, and
is written when they do.

A worker reports once a second, and may write some lines and note some spans in each. Here each application
is asked only a share of the time. So it is told when to report, at the end of its turn, where the report is
counted with the requests that it tells of; and it has that share of each limit, which goes on while
others have their turns.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import fastapi
import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bench_meter import NoMeter
from privatellm.backend_keys import PlatformKey
from privatellm.names import slug_of
from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm.tokens import Token
from privatellm.verifiers import Verifier, hash_profile
from privatellm_authserver import clocks
from privatellm_authserver.answers import ANSWERS, NO_BODY, Message, start_of
from privatellm_authserver.asgi import Receive, Scope, Send, VerifyApp
from privatellm_authserver.audit import DEFAULT_LINES_PER_SECOND, AuditLog, RateLimit
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import verify
from privatellm_authserver.feed import FeedHealth
from privatellm_authserver.headers import FactReader
from privatellm_authserver.index import Allowed, EntryReader, TokenIndex
from privatellm_authserver.metrics import Meter
from privatellm_authserver.serving import listen, make_server
from privatellm_authserver.traces import SPANS_PER_SECOND, SpanNotes, TracingAudit
from privatellm_authserver.worker import Reporter

PUBLIC_HOST = "llm.example.com"
KEYS_PER_INSTANCE = 10
CONFIRM_SECONDS = 5.0


def tokens(count: int) -> Iterator[tuple[Token, str]]:
    """Yield tokens and the UID of the instance each opens; the same ones in every process."""
    for number in range(count):
        seed = sha256(f"bench {number}".encode()).hexdigest()
        key_id = "".join("abcdefghijklmnop"[int(digit, 16)] for digit in seed[:12])
        yield Token(key_id, seed[:43]), f"uid-{number // KEYS_PER_INSTANCE}"


def filled_index(count: int) -> TokenIndex:
    """Return an index of ``count`` tokens, read from Secrets as the feed does."""
    index = TokenIndex(EntryReader(PlatformKey.of("k" * 43)), max_staleness=60.0)
    snapshot = index.new_snapshot()
    profile = hash_profile()
    for token, uid in tokens(count):
        verifier = Verifier(
            key_id=token.key_id,
            hash=profile.hash(token.secret),
            request_uid=f"request-{token.key_id}",
            instance_uid=uid,
            slug=slug_of(uid),
            namespace="acme",
            not_before=datetime.now(UTC),
        )
        refusal = snapshot.add(verifier.to_secret("tokens"))
        assert refusal is None
    index.swap(snapshot, clocks.uptime())
    gc.freeze()  # As the feed does after a list.
    index.confirm(clocks.uptime())
    return index


class Checking(NamedTuple):
    """The authserver's application, and what it leaves behind.

    Attributes:
        app: As a worker builds it.
        meter: Where it counts.
        notes: Where it notes for traces.
    """

    app: VerifyApp
    meter: Meter
    notes: SpanNotes

    @classmethod
    def over(
        cls, index: TokenIndex, meter: Meter, share: float, *, traced: bool = False
    ) -> "Checking":
        """Put one together that is asked a share of the time."""
        notes, log = SpanNotes(), AuditLog(DEFAULT_LINES_PER_SECOND * share)
        audit = TracingAudit(log, notes, RateLimit(SPANS_PER_SECOND * share)) if traced else log
        return cls(VerifyApp(FactReader(PUBLIC_HOST), index, meter, audit), meter, notes)


def bare_app(start: Message) -> Any:
    """Return an application that gives one answer without looking at the request."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(start)
        await send(NO_BODY)

    return app


def fastapi_app(index: TokenIndex) -> fastapi.FastAPI:
    """Return the same check behind FastAPI's routing and response objects."""
    reader = FactReader(PUBLIC_HOST)
    app = fastapi.FastAPI()

    @app.get("/auth/verify")
    async def route(request: fastapi.Request) -> fastapi.Response:
        now = Moment(time.time(), clocks.uptime())
        decision = verify(reader.read(request.headers.raw), index, now)
        if isinstance(decision, Allowed):
            headers = {
                name.decode(): value.decode() for name, value in start_of(decision)["headers"]
            }
            return fastapi.Response(status_code=200, headers=headers)
        answer = ANSWERS[decision.reason]
        return fastapi.Response(answer.body["body"], status_code=answer.start["status"])

    return app


def checking_applications(index: TokenIndex, share: float) -> dict[str, Checking]:
    """Return the applications that check, by their names."""
    return {
        "uncounted": Checking.over(index, NoMeter(), share),
        "twin": Checking.over(index, NoMeter(), share),
        "check": Checking.over(index, Meter(), share),
        "traced": Checking.over(index, Meter(), share, traced=True),
    }


def applications(index: TokenIndex, checking: Mapping[str, Checking]) -> dict[str, Any]:
    """Return every application by its name."""
    token, uid = next(tokens(1))
    entry = index.find(token.key_id.encode())
    assert entry.instance.uid == uid
    others = {"bare": bare_app(start_of(entry)), "fastapi": fastapi_app(index)}
    return {name: each.app for name, each in checking.items()} | others


async def open_ports(applications: Mapping[str, Any]) -> dict[str, int]:
    """Serve applications until the event loop ends, and return where."""
    ports = {}
    for name, application in applications.items():
        listener = listen("127.0.0.1", 0)
        server = make_server(application).serve(sockets=[listener])
        asyncio.create_task(server, name=name)  # noqa: RUF006 - the server's own callbacks keep it
        ports[name] = listener.getsockname()[1]
    return ports


async def take_orders(reporters: Mapping[str, Reporter]) -> int:
    """Let the load say when an application's turn is over, and return the port for that.

    A line names the application; the line that answers comes when it has reported, if it does at all.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            reporter = reporters.get(line.decode().strip())
            if reporter is not None:
                await reporter.tell()
            writer.write(line)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


async def serve(count: int, share: float, channel: socket.socket) -> None:
    """Serve until the supervisor closes the channel."""
    index = filled_index(count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    checking = checking_applications(index, share)
    supervisor, writer = await asyncio.open_connection(sock=channel)
    reporters = {
        name: Reporter(index, each.meter, each.notes, FeedHealth(), writer)
        for name, each in checking.items()
    }
    confirming = asyncio.create_task(_confirm(index))
    hello = {
        "pid": os.getpid(),
        "orders": await take_orders(reporters),
        "ports": await open_ports(applications(index, checking)),
        "peakMB": peak,
    }
    sys.stdout.write(json.dumps(hello) + "\n")
    sys.stdout.flush()
    await supervisor.read()
    confirming.cancel()


async def _confirm(index: TokenIndex) -> None:
    """Confirm the index as often as the feed does."""
    while True:
        index.confirm(clocks.uptime())
        await asyncio.sleep(CONFIRM_SECONDS)


def main() -> None:
    """Serve on one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument(
        "--share", type=float, required=True, help="of the time, for each one asked"
    )
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--channel", type=int, required=True)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    configure_logging(LogFormat.JSON, "info")
    channel = socket.socket(fileno=arguments.channel)
    uvloop.run(serve(arguments.tokens, arguments.share, channel))


if __name__ == "__main__":
    main()
