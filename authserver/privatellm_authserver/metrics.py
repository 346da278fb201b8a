"""Counting on the hot path, and what Prometheus is shown of it.

prometheus-client's own counters take a lock and half a microsecond each, several times what a decision
may cost. A worker has one thread, so :class:`Meter` counts in plain integers; the supervisor adds up all
workers' numbers and hands them to prometheus-client when it is asked, through :class:`FleetCollector`.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from typing import Final, Protocol

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm.telemetry.distribution import cumulative
from privatellm.telemetry.exposition import counter_of, gauge_of, histogram_of
from privatellm.telemetry.families import authserver as families
from privatellm_authserver import clocks
from privatellm_authserver.clocks import Moment, Uptime
from privatellm_authserver.decision import Reason
from privatellm_authserver.reports import ALLOWED_LABEL, KEYS_PER_REPORT, Report, Totals

DURATION_BUCKETS: Final = families.DECISION_SECONDS.buckets
"""Upper bounds in seconds; a decision takes a few microseconds."""


TIMED_EVERY: Final = 8
"""One decision in so many is timed: reading a clock costs a tenth of what it would measure."""

MOST_UNSORTED: Final = 50_000
"""Uses that wait to be added up at most: a worker whose reports are stuck must not grow without end."""


class Meter:
    """What one worker counts.

    What is wanted of every allowed request is one call to a method of a list and one to an iterator's.
    They are quick by themselves, and even more so in a server, where everything else has passed through
    the processor's caches since the last request: the end of a list is one place, a count by key as many
    as there are keys. Uses are added up by key when they are told.

    Attributes:
        used: Notes the id of a key that let a request in, which counts the request.
        is_timed: Says whether this allowed request is one of those whose decision is timed.
    """

    def __init__(self, uptime: Uptime = clocks.uptime) -> None:
        self._uptime = uptime
        self._unsorted: list[bytes] = []
        self.used: Callable[[bytes], None] = self._unsorted.append
        self.is_timed: Callable[[], bool] = cycle([True] + [False] * (TIMED_EVERY - 1)).__next__
        self._sorted_count = 0
        self._denied_counts = dict.fromkeys(Reason, 0)
        self._durations = [0] * (len(DURATION_BUCKETS) + 1)
        self._duration_sum = 0.0
        self._uses: Counter[bytes] = Counter()

    @property
    def allowed_count(self) -> int:
        """How many requests were let in."""
        return self._sorted_count + len(self._unsorted)

    def timed(self, began: Moment) -> None:
        """Note that a decision took from a moment until now."""
        seconds = self._uptime() - began.uptime
        self._durations[bisect_left(DURATION_BUCKETS, seconds)] += 1
        self._duration_sum += seconds
        if len(self._unsorted) >= MOST_UNSORTED:
            self._add_up()

    def denied(self, reason: Reason, began: Moment) -> None:
        """Count a denied request whose decision began at a moment."""
        self._denied_counts[reason] += 1
        if self._denied_counts[reason] % TIMED_EVERY == 1:
            self.timed(began)

    def totals(self) -> Totals:
        """Return the counters."""
        denied = {reason.value: count for reason, count in self._denied_counts.items()}
        return Totals(
            decisions={ALLOWED_LABEL: self.allowed_count} | denied,
            durations=tuple(self._durations),
            duration_sum=self._duration_sum,
        )

    def take_uses(self) -> dict[str, int]:
        """Return how often each key was used since the last call, the longest known first."""
        self._add_up()
        uses = self._uses
        batch = list(islice(uses, KEYS_PER_REPORT))
        return {key_id.decode(): uses.pop(key_id) for key_id in batch}

    def _add_up(self) -> None:
        self._sorted_count = self.allowed_count
        self._uses.update(self._unsorted)
        self._unsorted.clear()


class WorkerView(Protocol):
    """What the collector wants to know about one worker."""

    @property
    def number(self) -> int:
        """The worker's place in the fleet."""

    @property
    def report(self) -> Report | None:
        """Its last report, unless it is not running."""

    @property
    def restarts(self) -> int:
        """How often it was started again."""


class FleetView(Protocol):
    """What the collector wants to know about all workers."""

    @property
    def workers(self) -> Sequence[WorkerView]:
        """Every worker."""

    def totals(self) -> Totals:
        """Return everything counted by all workers, dead ones included."""


class FleetCollector(Collector):
    """Shows all workers together, at the moment of the scrape."""

    def __init__(self, fleet: FleetView, uptime: Uptime) -> None:
        self._fleet = fleet
        self._uptime = uptime

    @override
    def collect(self) -> Iterable[Metric]:
        yield from _counters(self._fleet.totals())
        yield from _gauges(self._fleet.workers, self._uptime())


def _counters(totals: Totals) -> Iterator[Metric]:
    decisions = counter_of(families.DECISIONS)
    for label in (ALLOWED_LABEL, *(reason.value for reason in Reason)):
        decisions.add_metric([label], totals.decisions.get(label, 0))
    yield decisions
    durations = histogram_of(families.DECISION_SECONDS)
    counts = totals.durations or (0,) * (len(DURATION_BUCKETS) + 1)
    durations.add_metric([], cumulative(DURATION_BUCKETS, counts), totals.duration_sum)
    yield durations
    for family, value in (
        (families.RELISTS, totals.relists),
        (families.WATCH_FAILURES, totals.watch_failures),
    ):
        counter = counter_of(family)
        counter.add_metric([], value)
        yield counter


def _gauges(workers: Sequence[WorkerView], uptime: float) -> Iterator[Metric]:
    ages, skew = gauge_of(families.INDEX_AGE), gauge_of(families.CLOCK_SKEW)
    tokens, revoked = gauge_of(families.INDEX_TOKENS), gauge_of(families.INDEX_REVOKED)
    rejected, up = gauge_of(families.REJECTED), gauge_of(families.WORKER_UP)
    restarts = counter_of(families.WORKER_RESTARTS)
    for worker in workers:
        label, report = [str(worker.number)], worker.report
        up.add_metric(label, float(report is not None))
        restarts.add_metric(label, worker.restarts)
        if report is None:
            continue
        tokens.add_metric(label, report.tokens)
        revoked.add_metric(label, report.revoked)
        rejected.add_metric(label, report.rejected)
        if report.confirmed_at is not None:
            ages.add_metric(label, uptime - report.confirmed_at)
        if report.seconds_ahead is not None:
            skew.add_metric(label, report.seconds_ahead)
    yield from (ages, skew, tokens, revoked, rejected, up, restarts)
