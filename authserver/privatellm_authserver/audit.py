"""The audit log: who was let in or turned away, and why.

A line names the key by its id, the instance by its slug, and the path without its query; it holds no token
and no hash. Lines are bounded in number, because a flood of requests must not become a flood of writes:
each outcome has a limit of its own, so that noise of one kind does not hide another, and the next line that
is written says how many were left out before it.
"""

import math
import re
from typing import Final

import structlog

from privatellm.tokens import KEY_ID_PATTERN
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.headers import RequestFacts
from privatellm_authserver.index import Allowed
from privatellm_authserver.paths import loggable_target

DEFAULT_LINES_PER_SECOND: Final = 10.0
"""Lines per second, per process and outcome."""

BURST_LINES: Final = 20
"""Lines that may be written at once after a quiet time."""

_KEY_ID: Final = re.compile(KEY_ID_PATTERN.encode())
_METHOD: Final = re.compile(rb"[A-Z]{1,16}")


class RateLimit:
    """Admits a steady rate with bursts (the generic cell rate algorithm) and counts what it leaves out.

    Attributes:
        opens_at: The uptime from which the next one is admitted; who is in a hurry compares with it.
        suppressed: How many were left out.
    """

    def __init__(self, per_second: float, burst: int = BURST_LINES) -> None:
        self._interval = 1.0 / per_second
        # Half an interval more than the last of the burst needs, so that rounding decides nothing.
        self._tolerance = self._interval * (burst - 0.5)
        self._due = 0.0
        self.opens_at = -math.inf
        self.suppressed = 0

    def admits(self, uptime: float) -> bool:
        """Say whether one more may happen now."""
        if uptime < self.opens_at:
            self.suppressed += 1
            return False
        self._due = max(self._due, uptime) + self._interval
        self.opens_at = self._due - self._tolerance
        return True

    def take_suppressed(self) -> int:
        """Return how many were left out since the last call."""
        suppressed, self.suppressed = self.suppressed, 0
        return suppressed


class AuditLog:
    """Writes audit lines of one process.

    Attributes:
        closed_until: The uptime before which no line is written of a request that is let in.
    """

    def __init__(self, lines_per_second: float = DEFAULT_LINES_PER_SECOND) -> None:
        self._log = structlog.stdlib.get_logger("privatellm.audit")
        self._allowed = RateLimit(lines_per_second)
        self._denied = {reason: RateLimit(lines_per_second) for reason in Reason}
        self._last_number = 0
        self.closed_until = self._allowed.opens_at

    def allowed(self, allowed: Allowed, facts: RequestFacts, now: Moment, number: int) -> None:
        """Note that a request was let in, unless there are too many to note.

        Args:
            allowed: What it was let in to.
            facts: What it said.
            now: When it asked.
            number: How many were let in so far, with it; the log is not called for all of them.
        """
        if not self._allowed.admits(now.uptime):
            return
        self.closed_until = self._allowed.opens_at
        suppressed, self._last_number = number - self._last_number - 1, number
        _slug, path = loggable_target(facts.uri)
        self._log.info(
            "request allowed",
            key_id=allowed.key_id.decode(),
            instance=allowed.instance.slug.decode(),
            namespace=allowed.instance.namespace,
            method=facts.method.decode(),
            path=path,
            suppressed=suppressed,
        )

    def denied(self, reason: Reason, facts: RequestFacts, now: Moment) -> None:
        """Note that a request was turned away, unless there are too many to note."""
        limit = self._denied[reason]
        if not limit.admits(now.uptime):
            return
        slug, path = loggable_target(facts.uri)
        self._log.warning(
            "request denied",
            reason=reason.value,
            # What the client claims; it is public, but only if it has the form of a key id.
            key_id=facts.key_id.decode() if _KEY_ID.fullmatch(facts.key_id) else "",
            instance=slug,
            method=facts.method.decode() if _METHOD.fullmatch(facts.method) else "",
            path=path,
            suppressed=limit.take_suppressed(),
        )
