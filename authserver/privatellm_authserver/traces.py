"""The decision as a span of the edge's trace.

Traefik begins a trace for a request, or goes on with the client's, decides whether it is kept, and says so
in the W3C's ``traceparent`` header. Where it is kept, the decision becomes a span below Traefik's: reason,
key id and instance, never a header, a path or a secret. We begin no trace of our own, because the edge
knows the whole request and we see a small part of it. A client can ask for its traces to be kept, so the
spans of a second are limited.

Nothing of this is there when nobody wants traces: the application and its audit log are then the plain
ones, and the hot path has no branch for it. When it is there, a request without a kept trace costs one look
for one header and goes to the plain application, and the span of a kept one is written after its answer.
"""

import time
from collections.abc import Awaitable, Mapping
from typing import Final

import structlog

from privatellm.telemetry.tracing import (
    Attribute,
    SpanRecord,
    SpanSink,
    TraceIdentity,
    parse_traceparent,
)
from privatellm_authserver.asgi import Audit, Receive, Scope, Send, VerifyApp
from privatellm_authserver.audit import RateLimit
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.headers import RequestFacts
from privatellm_authserver.index import Allowed
from privatellm_authserver.reports import ALLOWED_LABEL

TRACEPARENT: Final = b"traceparent"

_KEPT: Final = frozenset(b"%x" % digit for digit in range(1, 16, 2))
"""How the header of a kept trace ends: its last bit is set. A look at it spares the others a parse."""

_NO_TRACE: Final = TraceIdentity(1, 1)

SPANS_PER_SECOND: Final = 100.0
"""Spans a second and worker; what is above is not written, and its trace lacks our part."""


class _Decided:
    """One request whose trace is kept, on its way."""

    __slots__ = ("attributes", "began", "ended", "parent")

    def __init__(self, parent: TraceIdentity) -> None:
        self.parent = parent
        self.began = time.time_ns()
        self.ended = 0
        self.attributes: dict[str, Attribute] = {}

    def end(self, reason: str, details: Mapping[str, Attribute]) -> None:
        """Note the decision."""
        self.ended = time.time_ns()
        self.attributes = {"private_llm.decision": reason, **details}


class TracingAudit:
    """An audit log that also notes the decision for the trace of the request at hand."""

    def __init__(self, audit: Audit) -> None:
        """Stand in front of an audit log.

        Args:
            audit: Writes the lines; these carry the trace's id.
        """
        self._audit = audit
        self.at_hand = _Decided(_NO_TRACE)
        """The request that is being decided. Between a request's arrival and its audit line nothing waits,
        so there is one at most."""

    def allowed(self, allowed: Allowed, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was let in."""
        details = {
            "private_llm.key_id": allowed.key_id.decode(),
            "private_llm.instance.slug": allowed.instance.slug.decode(),
            "k8s.namespace.name": allowed.instance.namespace,
        }
        self.at_hand.end(ALLOWED_LABEL, details)
        with structlog.contextvars.bound_contextvars(trace_id=self.at_hand.parent.trace_hex):
            self._audit.allowed(allowed, facts, now)

    def denied(self, reason: Reason, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was turned away."""
        self.at_hand.end(reason.value, {})
        with structlog.contextvars.bound_contextvars(trace_id=self.at_hand.parent.trace_hex):
            self._audit.denied(reason, facts, now)


class TracedApp:
    """Two applications over one index: requests of kept traces go to the one that notes decisions."""

    def __init__(
        self,
        plain: VerifyApp,
        traced: VerifyApp,
        audit: TracingAudit,
        spans: SpanSink,
        limit: RateLimit,
    ) -> None:
        """Put the parts together.

        Args:
            plain: Serves all other requests, as it does where nobody wants traces.
            traced: Serves requests of kept traces; its audit log is ``audit``.
            audit: Notes decisions.
            spans: Where spans go.
            limit: How many.
        """
        self._plain = plain
        self._traced = traced
        self._audit = audit
        self._spans = spans
        self._limit = limit

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one ASGI connection scope; must be awaited at once.

        No coroutine of our own: a request without a kept trace then costs no frame more than without us.
        """
        decided = _kept(scope)
        if decided is None:
            return self._plain(scope, receive, send)
        return self._serve(decided, scope, receive, send)

    async def _serve(self, decided: _Decided, scope: Scope, receive: Receive, send: Send) -> None:
        self._audit.at_hand = decided
        await self._traced(scope, receive, send)
        if decided.ended and self._limit.admits(time.monotonic()):
            span = SpanRecord(
                "verify", decided.began, decided.ended, decided.attributes, is_server=True
            )
            self._spans.continue_(span, decided.parent)


def _kept(scope: Scope) -> _Decided | None:
    """Return the request's trace when it is kept."""
    # Scopes of other protocols may have no headers.
    value = dict(scope.get("headers") or ()).get(TRACEPARENT)
    if value is None or value[-1:] not in _KEPT:
        return None
    parent = parse_traceparent(value)
    return _Decided(parent) if parent is not None and parent.is_sampled else None
