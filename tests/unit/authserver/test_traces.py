"""Decisions as spans: which requests get one, and what is in it."""

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from auth_world import PUBLIC_HOST, UPTIME, Key, World, make_key, question_for
from privatellm.telemetry.tracing import SpanRecord, TraceIdentity
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Audit, VerifyApp
from privatellm_authserver.audit import BURST_LINES, AuditLog, RateLimit
from privatellm_authserver.metrics import Meter
from privatellm_authserver.reports import LONGEST_REPORT, Report
from privatellm_authserver.settings import Settings
from privatellm_authserver.traces import MOST_WAITING, SpanNotes, TracingAudit, write_spans
from privatellm_authserver.worker import build_app

TRACE, PARENT = "1" * 32, "2" * 16
TOOK = 0.25


class Spans:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.written: list[tuple[SpanRecord, TraceIdentity]] = []

    def begin(self, _span: SpanRecord, _identity: TraceIdentity) -> None:
        """Begin no trace: that is the edge's."""
        raise AssertionError

    def continue_(self, span: SpanRecord, parent: TraceIdentity) -> None:
        """Keep a span."""
        self.written.append((span, parent))

    def close(self) -> None:
        """Do nothing."""


class Check:
    """The application with traces on, and the supervisor's side of it."""

    def __init__(self, spans_at_once: int = 1_000) -> None:
        self.world, self.spans = World(), Spans()
        self._notes = SpanNotes(uptime=lambda: UPTIME + TOOK)
        audit = TracingAudit(AuditLog(), self._notes, RateLimit(1.0, spans_at_once))
        self.app = VerifyApp(
            self.world.reader, self.world.index, Meter(), audit, uptime=lambda: UPTIME
        )

    def written(self) -> list[tuple[SpanRecord, TraceIdentity]]:
        """Return the spans that are written after the worker's next report."""
        report = Report(spans=self._notes.take())
        write_spans(Report.from_line(report.to_line()).spans, self.spans)
        return self.spans.written

    async def ask(self, key: Key, *traceparents: bytes, path: str = "/auth/verify") -> int:
        """Ask as Traefik does and return the status."""
        statuses: list[int] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            # Other requests get their turn while an answer is sent.
            await asyncio.sleep(0)
            statuses.append(message.get("status", 0))

        headers = [*question_for(key), *((b"traceparent", value) for value in traceparents)]
        scope = {"type": "http", "path": path, "method": "GET", "headers": headers}
        await self.app(scope, _receive, send)
        return statuses[0]


async def _send(_message: MutableMapping[str, Any]) -> None:
    return None


async def _receive() -> MutableMapping[str, Any]:
    return {"type": "http.request"}


def header(flags: str = "01", trace: str = TRACE) -> bytes:
    return f"00-{trace}-{PARENT}-{flags}".encode()


async def test_a_kept_trace_gets_the_decision_below_the_span_that_asked() -> None:
    """With the key's public id and the instance; the answer is what it is without traces."""
    check = Check()
    key = check.world.key()

    assert await check.ask(key, header()) == 200

    [(span, parent)] = check.written()
    assert (parent.trace_hex, parent.span_hex) == (TRACE, PARENT)
    assert (span.name, span.is_server) == ("verify", True)
    assert span.ended - span.began == pytest.approx(TOOK * 1e9)
    assert span.attributes == {
        "private_llm.decision": "allowed",
        "private_llm.key_id": key.token.key_id,
        "private_llm.instance.slug": key.slug,
        "k8s.namespace.name": "acme",
    }


async def test_a_denial_has_a_reason_and_repeats_nothing() -> None:
    check = Check()

    assert await check.ask(make_key(), header()) == 401

    [(span, _)] = check.written()
    assert span.attributes == {"private_llm.decision": "invalid_api_key"}


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (header("00"),),
        (b"",),
        (b"01",),
        (header(trace="0" * 32),),
        (b"01-" + header()[3:],),
        (header() + b"-x1",),
        (header(), header()),
        (header().upper().replace(b"1", b"G"),),
    ],
    ids=str,
)
async def test_other_requests_get_none(headers: tuple[bytes, ...]) -> None:
    """Whose trace is not kept, or whose header is none or one of two; they are answered like any other."""
    check = Check()

    assert await check.ask(check.world.key(), *headers) == 200
    assert check.written() == []


async def test_what_is_not_a_question_gets_no_span() -> None:
    """No decision, nothing to tell; and the next request is not taken for it."""
    check = Check()

    assert await check.ask(check.world.key(), header(), path="/") == 404
    assert await check.ask(check.world.key()) == 200
    assert check.written() == []


async def test_requests_at_the_same_time_keep_their_own_traces() -> None:
    """Although they share an audit log."""
    check = Check()
    key = check.world.key()
    traces = [f"{number:032x}" for number in range(1, 30)]

    await asyncio.gather(*(check.ask(key, header(trace=trace)) for trace in traces))

    assert sorted(parent.trace_hex for _, parent in check.written()) == traces


async def test_a_client_cannot_have_any_number_of_spans_written() -> None:
    """It may ask for every trace to be kept; it gets the answers, and a few spans."""
    check = Check(spans_at_once=5)
    key = check.world.key()

    statuses = {await check.ask(key, header()) for _ in range(100)}

    assert statuses == {200}
    assert len(check.written()) == 5


async def test_what_the_supervisor_does_not_take_in_does_not_grow_without_end() -> None:
    """A worker whose reports are stuck keeps the last ones, in a report that can still be read."""
    check = Check(spans_at_once=2 * MOST_WAITING)
    key = check.world.key()
    traces = [f"{number:032x}" for number in range(1, 2 * MOST_WAITING)]

    for trace in traces:
        await check.ask(key, header(trace=trace))
    noted = check._notes.take()

    assert [span.traceparent[3:35] for span in noted] == traces[-MOST_WAITING:]
    assert len(Report(spans=noted).to_line()) < LONGEST_REPORT / 2


async def test_an_audit_line_of_a_kept_trace_carries_its_id() -> None:
    """And that of another request does not."""
    check = Check()
    key = check.world.key()
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        await check.ask(key, header())
        await check.ask(key)

    assert [line.get("trace_id") for line in lines] == [TRACE, None]


async def test_what_is_above_the_limit_costs_no_more_than_what_is_not_kept() -> None:
    """Its header is not read, and its line of the audit log names no trace in which its span is missing."""
    check = Check(spans_at_once=1)
    key = check.world.key()
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        await check.ask(key, header())
        await check.ask(key, header())
        await check.ask(make_key(), header())

    assert [line.get("trace_id") for line in lines] == [TRACE, None, None]


@pytest.mark.parametrize("traced", [False, True])
async def test_a_flood_of_allowed_requests_is_cut_off_and_counted(*, traced: bool) -> None:
    """With traces and without: the log is not called for what it does not tell, and counts it."""
    world, clock = World(), [UPTIME]
    log: Audit = AuditLog(lines_per_second=10)
    audit = TracingAudit(log, SpanNotes(), RateLimit(10)) if traced else log
    app = VerifyApp(world.reader, world.index, Meter(), audit, uptime=lambda: clock[0])
    headers = [*question_for(world.key()), (b"traceparent", header())]
    scope = {"type": "http", "path": "/auth/verify", "method": "GET", "headers": headers}
    with capture_logs() as lines:
        for _ in range(1_000):
            await app(scope, _receive, _send)
        flood = len(lines)
        clock[0] += 0.11
        await app(scope, _receive, _send)
        await app(scope, _receive, _send)
        clock[0] += 0.11
        await app(scope, _receive, _send)

    assert flood == BURST_LINES
    assert [line["suppressed"] for line in lines[-3:]] == [0, 1_000 - BURST_LINES, 1]


async def test_a_full_log_hides_no_span_and_a_full_limit_of_spans_no_line() -> None:
    """Each is called while it has room, whatever the other one says."""
    world, notes, clock = World(), SpanNotes(), [UPTIME]
    audit = TracingAudit(AuditLog(lines_per_second=1e-6), notes, RateLimit(1.0, 1_000))
    app = VerifyApp(world.reader, world.index, Meter(), audit, uptime=lambda: clock[0])
    headers = [*question_for(world.key()), (b"traceparent", header())]
    scope = {"type": "http", "path": "/auth/verify", "method": "GET", "headers": headers}
    with capture_logs() as lines:
        for _ in range(100):
            await app(scope, _receive, _send)

    assert (len(lines), len(notes.take())) == (BURST_LINES, 100)


def test_who_wants_no_traces_runs_the_plain_application() -> None:
    """The hot path has no branch for what is off."""
    settings = Settings(public_host=PUBLIC_HOST, platform_key_file=Path("/not/read/here"))
    world = World()

    app = build_app(settings, world.index, Meter(), None)

    assert type(app) is VerifyApp
    assert type(app._audit) is AuditLog


async def test_a_worker_notes_a_hundred_spans_a_second_and_no_more() -> None:
    """Whatever a client asks for: what a report carries and a collector gets has a bound (ADR 89)."""
    settings = Settings(public_host=PUBLIC_HOST, platform_key_file=Path("/not/read/here"))
    world, notes = World(), SpanNotes()
    began = clocks.uptime()
    world.index.confirm(began)
    app = build_app(settings, world.index, Meter(), notes)
    headers = [*question_for(make_key()), (b"traceparent", header())]
    scope = {"type": "http", "path": "/auth/verify", "method": "GET", "headers": headers}
    with capture_logs():
        for _ in range(MOST_WAITING - 1):
            await app(scope, _receive, _send)
    noted, seconds = len(notes.take()), clocks.uptime() - began

    assert BURST_LINES <= noted <= BURST_LINES + 100 * seconds + 1
