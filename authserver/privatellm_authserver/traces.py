"""The decision as a span of the edge's trace.

Traefik begins a trace for a request, or goes on with the client's, decides whether it is kept, and says so
in the W3C's ``traceparent`` header. Where it is kept, the decision becomes a span below Traefik's: reason,
key id and instance, never a header, a path or a secret. We begin no trace of our own, because the edge
knows the whole request and we see a small part of it. A client can ask for its traces to be kept, so the
spans of a second are limited.

A worker notes a few values and no more. They go to the supervisor with its next report, and it makes the
span and sends it: OpenTelemetry takes a third of a millisecond of a process that does something else in
between, ten times what a request may take, and its threads would compete with answers for the interpreter.

Nothing of this is there when nobody wants traces: the audit log is then the plain one, and the hot path has
no branch for it. When it is there, a request without a kept trace costs one look at one header, and one
above the limit nothing.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

import structlog

from privatellm.telemetry.tracing import SpanRecord, SpanSink, TraceIdentity, parse_traceparent
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Audit
from privatellm_authserver.audit import RateLimit
from privatellm_authserver.clocks import Moment, Uptime
from privatellm_authserver.decision import Reason
from privatellm_authserver.headers import RequestFacts
from privatellm_authserver.index import Allowed
from privatellm_authserver.reports import ALLOWED_LABEL, DecisionSpan

_KEPT: Final = frozenset(b"%x" % digit for digit in range(1, 16, 2))
"""How the header of a kept trace ends: its last bit is set. A look at it spares the others a parse."""

_NANOSECONDS: Final = 1_000_000_000

SPANS_PER_SECOND: Final = 100.0
"""Spans a second and worker; what is above is not written, and its trace lacks our part."""

MOST_WAITING: Final = 1_000
"""Spans that wait for a report at most; of more, the oldest are lost."""


class SpanNotes:
    """What one worker noted for traces since its last report."""

    def __init__(
        self, uptime: Uptime = clocks.uptime, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        """Begin with nothing.

        Args:
            uptime: The clock by which decisions begin.
            wall_ns: The clock that Traefik's spans are told by, which need not be the one that judges keys.
        """
        self._uptime = uptime
        self._wall_ns = wall_ns
        self._waiting: deque[_Note] = deque(maxlen=MOST_WAITING)

    def note(
        self, traceparent: bytes, began: Moment, decision: str, opened: Allowed | None = None
    ) -> None:
        """Note a decision that ends now.

        Args:
            traceparent: The header of its request.
            began: When it began.
            decision: As metrics label it.
            opened: What it opened, if it did.
        """
        seconds, ended = self._uptime() - began.uptime, self._wall_ns()
        self._waiting.append(_Note(traceparent, seconds, ended, decision, opened))

    def take(self) -> tuple[DecisionSpan, ...]:
        """Return what was noted since the last call."""
        taken = tuple(map(_span_of, self._waiting))
        self._waiting.clear()
        return taken


class _Note(NamedTuple):
    """A decision, as it is at hand when it is made; nothing is decoded before it is told."""

    traceparent: bytes
    seconds: float
    ended: int
    decision: str
    opened: Allowed | None


def _span_of(note: _Note) -> DecisionSpan:
    traceparent, seconds, ended, decision, opened = note
    began = ended - int(seconds * _NANOSECONDS)
    names = () if opened is None else _names_of(opened)
    return DecisionSpan(traceparent.decode(), began, ended, decision, *names)


def _names_of(opened: Allowed) -> tuple[str, str, str]:
    instance = opened.instance
    return opened.key_id.decode(), instance.slug.decode(), instance.namespace


class TracingAudit:
    """An audit log that also notes decisions for the traces of their requests.

    Attributes:
        closed_until: The uptime before which nothing is noted of a request that is let in.
    """

    def __init__(self, audit: Audit, notes: SpanNotes, limit: RateLimit) -> None:
        """Stand in front of an audit log.

        Args:
            audit: Writes the lines; those of a kept trace carry its id.
            notes: Where decisions are noted.
            limit: How many.
        """
        self._audit = audit
        self._notes = notes
        self._limit = limit
        self.closed_until = min(audit.closed_until, limit.opens_at)

    def allowed(self, allowed: Allowed, facts: RequestFacts, now: Moment, number: int) -> None:
        """Note that a request was let in."""
        is_kept = now.uptime >= self._limit.opens_at and facts.traceparent[-1:] in _KEPT
        is_told = now.uptime >= self._audit.closed_until
        if not (is_kept or is_told):
            return
        trace = self._noted(facts, now, ALLOWED_LABEL, allowed) if is_kept else None
        if is_told:
            with _lines_of(trace):
                self._audit.allowed(allowed, facts, now, number)
        self.closed_until = min(self._audit.closed_until, self._limit.opens_at)

    def denied(self, reason: Reason, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was turned away."""
        is_kept = now.uptime >= self._limit.opens_at and facts.traceparent[-1:] in _KEPT
        trace = self._noted(facts, now, reason.value) if is_kept else None
        with _lines_of(trace):
            self._audit.denied(reason, facts, now)

    def _noted(
        self, facts: RequestFacts, began: Moment, decision: str, opened: Allowed | None = None
    ) -> TraceIdentity | None:
        """Note a decision for the span that asked, and return which that is."""
        parent = parse_traceparent(facts.traceparent)
        if parent is not None and self._limit.admits(began.uptime):
            self._notes.note(facts.traceparent, began, decision, opened)
        return parent


def _lines_of(trace: TraceIdentity | None) -> AbstractContextManager[object]:
    """Return a block whose lines carry the id of a trace, where there is one."""
    if trace is None:
        return nullcontext()
    return structlog.contextvars.bound_contextvars(trace_id=trace.trace_hex)


def write_spans(spans: Iterable[DecisionSpan], sink: SpanSink) -> None:
    """Write what a worker noted; what names no trace is left out."""
    for span in spans:
        parent = parse_traceparent(span.traceparent.encode())
        if parent is not None:
            sink.continue_(_record_of(span), parent)


def _record_of(span: DecisionSpan) -> SpanRecord:
    details = {
        "private_llm.key_id": span.key_id,
        "private_llm.instance.slug": span.slug,
        "k8s.namespace.name": span.namespace,
    }
    told = {name: value for name, value in details.items() if value}
    attributes = {"private_llm.decision": span.decision, **told}
    return SpanRecord("verify", span.began, span.ended, attributes, is_server=True)
