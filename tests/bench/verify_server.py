"""The servers that ``verify_bench.py`` compares: one process, a port for each of several applications.

One process, because where its memory happens to lie makes a process some percent slower or faster for as
long as it lives: so all of them have the same luck, and the same index beside them.

``check`` is the authserver's own application on its own server, with an index that is filled directly, a
reporter and a supervisor (``verify_supervisor.py``) that takes its reports in; ``uncounted`` is the same
without metrics, ``traced`` the same with notes for traces; ``bare`` is the same server giving the same
answer without a check; ``fastapi`` is a plain FastAPI route with the same check. One line of JSON on stdout
says where they listen and how much memory the process took at most, and is written when they do.
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
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

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
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import verify
from privatellm_authserver.feed import FeedHealth
from privatellm_authserver.headers import FactReader
from privatellm_authserver.index import Allowed, EntryReader, TokenIndex
from privatellm_authserver.metrics import Meter
from privatellm_authserver.serving import listen, make_server
from privatellm_authserver.settings import Settings
from privatellm_authserver.traces import SpanNotes
from privatellm_authserver.worker import Reporter, build_app

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


def check_app(index: TokenIndex, meter: Meter, notes: SpanNotes | None = None) -> VerifyApp:
    """Return the authserver's application as a worker builds it."""
    settings = Settings(public_host=PUBLIC_HOST, platform_key_file=Path("/not/read/here"))
    return build_app(settings, index, meter, notes)


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


def applications(index: TokenIndex, meter: Meter, notes: SpanNotes) -> dict[str, Any]:
    """Return every application by its name."""
    token, uid = next(tokens(1))
    entry = index.find(token.key_id.encode())
    assert entry.instance.uid == uid
    return {
        "bare": bare_app(start_of(entry)),
        "uncounted": check_app(index, NoMeter()),
        "check": check_app(index, meter),
        "traced": check_app(index, meter, notes),
        "fastapi": fastapi_app(index),
    }


async def serve(count: int, channel: socket.socket) -> None:
    """Serve until the supervisor closes the channel."""
    index = filled_index(count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    meter, notes = Meter(), SpanNotes()
    orders, writer = await asyncio.open_connection(sock=channel)
    reporter = Reporter(index, meter, notes, FeedHealth(), writer)
    helpers = [asyncio.create_task(_confirm(index)), asyncio.create_task(reporter.run())]
    ports = {}
    for name, application in applications(index, meter, notes).items():
        listener = listen("127.0.0.1", 0)
        server = make_server(application).serve(sockets=[listener])
        helpers.append(asyncio.create_task(server))
        ports[name] = listener.getsockname()[1]
    sys.stdout.write(json.dumps({"pid": os.getpid(), "ports": ports, "peakMB": peak}) + "\n")
    sys.stdout.flush()
    await orders.read()
    for helper in helpers:
        helper.cancel()


async def _confirm(index: TokenIndex) -> None:
    """Confirm the index as often as the feed does."""
    while True:
        index.confirm(clocks.uptime())
        await asyncio.sleep(CONFIRM_SECONDS)


def main() -> None:
    """Serve on one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--core", type=int, required=True)
    parser.add_argument("--channel", type=int, required=True)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    configure_logging(LogFormat.JSON, "info")
    uvloop.run(serve(arguments.tokens, socket.socket(fileno=arguments.channel)))


if __name__ == "__main__":
    main()
