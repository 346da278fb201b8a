"""What a worker tells its supervisor, once a second and when its readiness changes.

One line of JSON over a socket pair. A pipe of messages rather than shared memory: it carries key ids as
well as numbers, a silent worker is noticed by its silence, a dead one by the end of the stream, and a
worker notices the end of its supervisor in the same way. Counters count from the worker's start; the
supervisor adds up what earlier workers counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import zip_longest
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

HEARTBEAT_SECONDS: Final = 1.0
"""How often a worker reports."""

LONGEST_REPORT: Final = 2**20
"""Bytes of a line; :data:`KEYS_PER_REPORT` keeps reports far below it."""

KEYS_PER_REPORT: Final = 10_000
"""Key ids a report carries at most; the rest follow in the next one."""

ALLOWED_LABEL: Final = "allowed"
"""Label of allowed decisions beside the reasons of denied ones."""


class Totals(BaseModel):
    """Counters that add up over workers.

    Attributes:
        decisions: Decisions by reason, and allowed ones.
        durations: Timed decisions by duration, a number per bucket of the histogram.
        duration_sum: Seconds they took together.
        relists: Times the whole list was read.
        watch_failures: Times a list or watch failed.
    """

    model_config = ConfigDict(frozen=True)

    decisions: Mapping[str, int] = {}
    durations: tuple[int, ...] = ()
    duration_sum: float = 0.0
    relists: int = 0
    watch_failures: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        pairs = zip_longest(self.durations, other.durations, fillvalue=0)
        return Totals(
            decisions=Counter(self.decisions) + Counter(other.decisions),
            durations=tuple(mine + theirs for mine, theirs in pairs),
            duration_sum=self.duration_sum + other.duration_sum,
            relists=self.relists + other.relists,
            watch_failures=self.watch_failures + other.watch_failures,
        )


class DecisionSpan(NamedTuple):
    """A decision that belongs to a trace which is kept.

    Attributes:
        traceparent: The span that asked, as the W3C's header names it.
        began: Unix time in nanoseconds.
        ended: Unix time in nanoseconds.
        decision: As metrics label it.
        key_id: Of the key that opened; empty where none did.
        slug: Of the instance that it opened.
        namespace: Of that instance.
    """

    traceparent: str
    began: int
    ended: int
    decision: str
    key_id: str = ""
    slug: str = ""
    namespace: str = ""


class Report(BaseModel):
    """The state of one worker.

    Attributes:
        confirmed_at: Uptime at which the index was last known to be current; ``None`` before that.
        tokens: Keys in the index.
        revoked: Revoked keys that are remembered.
        rejected: Secrets of the token namespace that are no verifiers we may trust.
        totals: The worker's counters.
        seconds_ahead: By how much the worker's clock is ahead of the API server's; ``None`` when unknown.
        problem: What keeps the index from being confirmed; empty when nothing does.
        told_at: Unix time of this report. It stands for the last use of the keys in it, because a time for
            each would cost the hot path more than a second is worth.
        uses: How often each key was used since the last report.
        refused_since: Unix time at which each key that was ended since the last report began to be refused.
        spans: Decisions since the last report that belong to traces which are kept.
    """

    model_config = ConfigDict(frozen=True)

    confirmed_at: float | None = None
    tokens: int = 0
    revoked: int = 0
    rejected: int = 0
    problem: str = ""
    seconds_ahead: float | None = None
    totals: Totals = Totals()
    told_at: float = 0.0
    uses: Mapping[str, int] = {}
    refused_since: Mapping[str, float] = {}
    spans: tuple[DecisionSpan, ...] = ()

    def to_line(self) -> bytes:
        """Return the report as a line."""
        return self.model_dump_json().encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Report":
        """Read a line that a worker wrote."""
        return cls.model_validate_json(line)


def total(totals: Iterable[Totals]) -> Totals:
    """Add counters up."""
    return reduce(Totals.__add__, totals, Totals())
