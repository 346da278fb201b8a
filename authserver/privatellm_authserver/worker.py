"""One worker process: an index, the feed that fills it, and the verify port.

Started by the supervisor as ``python -m privatellm_authserver.worker``, with two inherited descriptors:
the listening socket, which all workers share, and one end of a socket pair for reports. The supervisor
stops a worker by closing its end; so a worker never outlives its supervisor, however that one died. A
worker that meets an error it does not understand ends, and is started again.

A worker takes its first connection when its index was confirmed: until then connections wait in the
backlog, or go to another worker, where an answer now would refuse good keys. It waits for a few seconds and
no longer, because who cannot be answered must be told so.
"""

import argparse
import asyncio
import contextlib
import math
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog
import uvloop

from privatellm.backend_keys import PlatformKey
from privatellm.errors import PrivateLLMError
from privatellm.kube.client import KubeClient
from privatellm.telemetry.logs import configure_logging
from privatellm.telemetry.tracing import is_wanted
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Audit, VerifyApp
from privatellm_authserver.audit import AuditLog, RateLimit
from privatellm_authserver.feed import FeedHealth, VerifierFeed
from privatellm_authserver.headers import FactReader
from privatellm_authserver.index import EntryReader, TokenIndex
from privatellm_authserver.metrics import Meter
from privatellm_authserver.reports import (
    HEARTBEAT_SECONDS,
    KEYS_PER_REPORT,
    Report,
    Totals,
)
from privatellm_authserver.serving import Server, make_server
from privatellm_authserver.settings import Settings
from privatellm_authserver.traces import SPANS_PER_SECOND, SpanNotes, TracingAudit

FIRST_LIST_SECONDS: Final = 4.0
"""How long connections wait for the first confirmation of the index. A list of 10 000 keys takes half a
second, and clients wait for longer than this; afterwards the answer is 503 until the index is confirmed."""


class Reporter:
    """Tells the supervisor how this worker is."""

    def __init__(
        self,
        index: TokenIndex,
        meter: Meter,
        notes: SpanNotes,
        health: FeedHealth,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._index = index
        self._meter = meter
        self._notes = notes
        self._health = health
        self._writer = writer
        self._due = asyncio.Event()
        self._first_confirmation = asyncio.Event()
        self._revoked_until = clocks.uptime()

    def confirmed(self) -> None:
        """Note a confirmation of the index; the first one is reported at once."""
        if not self._first_confirmation.is_set():
            self._first_confirmation.set()
            self._due.set()

    async def wait_for_confirmation(self, seconds: float) -> None:
        """Return when the index was confirmed for the first time, or after some seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first_confirmation.wait(), seconds)

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            self._index.forget_revoked(clocks.uptime())
            await self.tell()
            self._due.clear()
            try:
                await asyncio.wait_for(self._due.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                continue

    async def tell(self) -> None:
        """Report once.

        Raises:
            ConnectionError: when the supervisor is gone.
        """
        if self._writer.is_closing():
            # A write would be a mistake of ours to uvloop, and no news about the other end.
            raise ConnectionResetError("The supervisor is gone.")
        self._writer.write(self._report().to_line())
        await self._writer.drain()

    async def finish(self) -> None:
        """Report for the last time, and wait until all of it has left; the end of a process would not.

        Raises:
            ConnectionError: when the supervisor is gone.
        """
        await self.tell()
        self._writer.close()
        await self._writer.wait_closed()

    def _report(self) -> Report:
        confirmed_at = self._index.confirmed_at
        feed = Totals(relists=self._health.relists, watch_failures=self._health.failures)
        return Report(
            confirmed_at=confirmed_at if math.isfinite(confirmed_at) else None,
            tokens=self._index.tokens,
            revoked=self._index.revoked,
            rejected=self._index.rejected,
            problem=self._health.problem,
            seconds_ahead=self._health.seconds_ahead,
            totals=self._meter.totals() + feed,
            told_at=time.time(),
            uses=self._meter.take_uses(),
            refused_since=self._take_refused_since(),
            spans=self._notes.take(),
        )

    def _take_refused_since(self) -> dict[str, float]:
        """Return since when keys are refused that were ended since the last call.

        Of very many at once only the last ones are told; the operator measures those.
        """
        now, boot = clocks.uptime(), time.time() - clocks.uptime()
        news = self._index.revoked_since(self._revoked_until)
        self._revoked_until = now
        told = list(news.items())[:KEYS_PER_REPORT]
        return {key_id.decode(): boot + uptime for key_id, uptime in told}


def build_app(
    settings: Settings,
    index: TokenIndex,
    meter: Meter,
    notes: SpanNotes | None,
    wall: Callable[[], float] = time.time,
) -> VerifyApp:
    """Return the application; without a place for notes it knows nothing of traces."""
    audit: Audit = AuditLog(settings.audit_lines_per_second)
    if notes is not None:
        audit = TracingAudit(audit, notes, RateLimit(SPANS_PER_SECOND))
    return VerifyApp(FactReader(settings.public_host), index, meter, audit, wall)


async def work(
    settings: Settings, listener: socket.socket, channel: socket.socket, *, traces: bool = False
) -> None:
    """Answer questions until the supervisor closes the channel.

    Args:
        settings: The service's settings.
        listener: The socket that all workers accept from.
        channel: Our end of the socket pair to the supervisor.
        traces: Whether somebody wants them.
    """
    index = TokenIndex(
        EntryReader(PlatformKey.read(settings.platform_key_file)), settings.max_staleness_seconds
    )
    meter, notes, health = Meter(), SpanNotes(), FeedHealth()
    orders, writer = await asyncio.open_connection(sock=channel)
    reporter = Reporter(index, meter, notes, health, writer)
    async with await KubeClient.connect() as client:
        # Lives of keys are counted by the clock that wrote when they began.
        app = build_app(settings, index, meter, notes if traces else None, client.time)
        server = make_server(app)
        feed = VerifierFeed(
            client, settings.token_namespace, index, health, on_confirmed=reporter.confirmed
        )
        helpers = [asyncio.create_task(feed.run()), asyncio.create_task(reporter.run())]
        ordered = asyncio.create_task(orders.read())
        filled = asyncio.create_task(reporter.wait_for_confirmation(FIRST_LIST_SECONDS))
        await asyncio.wait([filled, ordered, *helpers], return_when=asyncio.FIRST_COMPLETED)
        if filled.done():
            # The index stays current while the last requests are answered.
            await _serve_until_any(server, listener, [ordered, *helpers])
        for helper in (filled, *helpers):
            helper.cancel()
        await _raise_failures(helpers)
        # What the last requests counted and noted; a supervisor that died wants to know nothing.
        with contextlib.suppress(ConnectionError):
            await reporter.finish()


async def _serve_until_any(
    server: Server, listener: socket.socket, ends: Iterable[asyncio.Task[Any]]
) -> None:
    """Accept connections until one of these tasks is done, and answer what was accepted."""
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.wait([serving, *ends], return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving


async def _raise_failures(helpers: list[asyncio.Task[None]]) -> None:
    for result in await asyncio.gather(*helpers, return_exceptions=True):
        # A broken pipe is how the end of the supervisor looks to the reporter.
        if isinstance(result, Exception) and not isinstance(result, ConnectionError):
            raise result


def main() -> None:
    """Run one worker."""
    parser = argparse.ArgumentParser(
        description="A worker of privatellm-authserver; not for users."
    )
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--listener", type=int, required=True)
    parser.add_argument("--channel", type=int, required=True)
    arguments = parser.parse_args()
    settings = Settings.from_environment()
    configure_logging(settings.log_format, settings.log_level)
    structlog.contextvars.bind_contextvars(worker=arguments.number)
    listener = socket.socket(fileno=arguments.listener)
    channel = socket.socket(fileno=arguments.channel)
    try:
        uvloop.run(work(settings, listener, channel, traces=is_wanted(os.environ)))
    except PrivateLLMError as error:
        structlog.stdlib.get_logger("privatellm.worker").critical("stopped", error=str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
