"""The decision as a span of the edge's trace.

Traefik begins a trace for a request, or goes on with the client's, decides whether it is kept, and says so
in the W3C's ``traceparent`` header. Where it is kept, the decision becomes a span below Traefik's: reason,
key id and instance, never a header, a path or a secret. We begin no trace of our own, because the edge
knows the whole request and we see a small part of it. A client can ask for its traces to be kept, so the
spans of a second are limited.

Nothing of this is there when nobody wants traces: the audit log is then the plain one, and the hot path has
no branch for it. When it is there, a request without a kept trace costs one look at one header, one above
the limit a comparison more, and a span is written after its answer.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

import structlog

from privatellm.telemetry.tracing import (
    Attribute,
    SpanRecord,
    SpanSink,
    parse_traceparent,
)
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Audit
from privatellm_authserver.audit import RateLimit
from privatellm_authserver.clocks import Moment, Uptime
from privatellm_authserver.decision import Reason
from privatellm_authserver.headers import RequestFacts
from privatellm_authserver.index import Allowed
from privatellm_authserver.reports import ALLOWED_LABEL

_KEPT: Final = frozenset(b"%x" % digit for digit in range(1, 16, 2))
"""How the header of a kept trace ends: its last bit is set. A look at it spares the others a parse."""

_NANOSECONDS: Final = 1_000_000_000

SPANS_PER_SECOND: Final = 100.0
"""Spans a second and worker; what is above is not written, and its trace lacks our part."""


class TracingAudit:
    """An audit log that also notes decisions for the traces of their requests."""

    def __init__(
        self,
        audit: Audit,
        spans: SpanSink,
        limit: RateLimit,
        uptime: Uptime = clocks.uptime,
    ) -> None:
        """Stand in front of an audit log.

        Args:
            audit: Writes the lines; those of a kept trace carry its id.
            spans: Where spans go.
            limit: How many.
            uptime: The clock of a decision's duration.
        """
        self._audit = audit
        self._spans = spans
        self._limit = limit
        self._uptime = uptime

    def allowed(self, allowed: Allowed, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was let in."""
        # The limit before the parse: where every trace is kept, most requests of a busy edge are above it.
        if facts.traceparent[-1:] not in _KEPT or not self._limit.admits(now.uptime):
            self._audit.allowed(allowed, facts, now)
            return
        details = {
            "private_llm.key_id": allowed.key_id.decode(),
            "private_llm.instance.slug": allowed.instance.slug.decode(),
            "k8s.namespace.name": allowed.instance.namespace,
        }
        with self._noted(facts, ALLOWED_LABEL, details, now):
            self._audit.allowed(allowed, facts, now)

    def denied(self, reason: Reason, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was turned away."""
        if facts.traceparent[-1:] not in _KEPT or not self._limit.admits(now.uptime):
            self._audit.denied(reason, facts, now)
            return
        with self._noted(facts, reason.value, {}, now):
            self._audit.denied(reason, facts, now)

    @contextmanager
    def _noted(
        self, facts: RequestFacts, reason: str, details: Mapping[str, Attribute], began: Moment
    ) -> Iterator[None]:
        """Write the span of a decision; lines of the block carry the id of its trace."""
        parent = parse_traceparent(facts.traceparent)
        if parent is None:
            yield
            return
        attributes = {"private_llm.decision": reason, **details}
        # By the clock that Traefik's spans are told by, which need not be the one that judges keys.
        ended = time.time_ns()
        started = ended - int((self._uptime() - began.uptime) * _NANOSECONDS)
        span = SpanRecord("verify", started, ended, attributes, is_server=True)
        # In the loop's next turn, so that nobody waits for it.
        asyncio.get_running_loop().call_soon(partial(self._spans.continue_, span, parent))
        with structlog.contextvars.bound_contextvars(trace_id=parent.trace_hex):
            yield
