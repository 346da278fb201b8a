"""The hot path: one question of Traefik's, one answer.

A bare ASGI application, because routing, dependency injection and response objects cost more than the
whole check. The verify port serves ``GET /auth/verify`` and nothing else; health, metrics and last use live
on the admin port of another process. Per request there is a parse, a look-up, a hash, a comparison and a
few integers to add; everything else was made before.
"""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

from privatellm_authserver import clocks
from privatellm_authserver.answers import ANSWERS, NO_BODY, NOT_FOUND, Answer, start_of
from privatellm_authserver.clocks import Moment, Uptime
from privatellm_authserver.decision import Reason, verify
from privatellm_authserver.headers import FactReader, RequestFacts
from privatellm_authserver.index import Allowed, TokenIndex
from privatellm_authserver.metrics import Meter

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

VERIFY_PATH: Final = "/auth/verify"


class Audit(Protocol):
    """Takes note of decisions, before their answers are sent.

    Attributes:
        closed_until: The uptime before which it notes no request that is let in, and need not be called.
    """

    closed_until: float

    def allowed(self, allowed: Allowed, facts: RequestFacts, now: Moment, number: int) -> None:
        """Note that a request was let in, the how-manyeth it may be."""

    def denied(self, reason: Reason, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was turned away."""


class VerifyApp:
    """Answers ForwardAuth requests from an index."""

    def __init__(
        self,
        reader: FactReader,
        index: TokenIndex,
        meter: Meter,
        audit: Audit,
        wall: Callable[[], float] = time.time,
        uptime: Uptime = clocks.uptime,
    ) -> None:
        """Put the parts together.

        Args:
            reader: Reads the facts of a request.
            index: The keys we know.
            meter: Counts decisions.
            audit: Writes them down.
            wall: The clock of expiry, in Unix time.
            uptime: The clock of staleness.
        """
        self._read = reader.read
        self._index = index
        self._meter = meter
        self._used = meter.used
        self._is_timed = meter.is_timed
        self._audit = audit
        self._wall = wall
        self._uptime = uptime

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Serve one ASGI connection scope; the request's body is never read."""
        if scope["type"] != "http" or scope["path"] != VERIFY_PATH or scope["method"] != "GET":
            await _send(send, NOT_FOUND)
            return
        # What Moment(...) does, at half of its cost.
        now = tuple.__new__(Moment, (self._wall(), self._uptime()))
        facts = self._read(scope["headers"])
        decision = verify(facts, self._index, now)
        if isinstance(decision, Allowed):
            self._used(decision.key_id)
            if self._is_timed():
                self._meter.timed(now)
            # A comparison in place of two calls, for nearly all requests of a busy edge.
            if now.uptime >= self._audit.closed_until:
                self._audit.allowed(decision, facts, now, self._meter.allowed_count)
            await send(start_of(decision))
            await send(NO_BODY)
        else:
            self._meter.denied(decision.reason, now)
            self._audit.denied(decision.reason, facts, now)
            await _send(send, ANSWERS[decision.reason])


async def _send(send: Send, answer: Answer) -> None:
    await send(answer.start)
    await send(answer.body)
