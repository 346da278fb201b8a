"""Counting on the hot path, and what Prometheus is shown of it.

prometheus-client's own counters take a lock and half a microsecond each, several times what a decision
may cost. A worker has one thread, so :class:`Meter` counts in plain integers; the supervisor adds up all
workers' numbers and hands them to prometheus-client when it is asked, through :class:`FleetCollector`.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
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


class Meter:
    """What one worker counts."""

    def __init__(self, uptime: Uptime = clocks.uptime) -> None:
        self._uptime = uptime
        self.allowed_count = 0
        self.denied_counts = dict.fromkeys(Reason, 0)
        self._durations = [0] * (len(DURATION_BUCKETS) + 1)
        self._duration_sum = 0.0
        self._uses: defaultdict[bytes, int] = defaultdict(int)

    def allowed(self, key_id: bytes, began: Moment) -> None:
        """Count an allowed request whose decision began at a moment."""
        self.allowed_count += 1
        self._uses[key_id] += 1
        if self.allowed_count % TIMED_EVERY == 0:
            self._took(self._uptime() - began.uptime)

    def denied(self, reason: Reason, began: Moment) -> None:
        """Count a denied request whose decision began at a moment."""
        self.denied_counts[reason] += 1
        if self.denied_counts[reason] % TIMED_EVERY == 0:
            self._took(self._uptime() - began.uptime)

    def _took(self, seconds: float) -> None:
        self._durations[bisect_left(DURATION_BUCKETS, seconds)] += 1
        self._duration_sum += seconds

    def totals(self) -> Totals:
        """Return the counters."""
        denied = {reason.value: count for reason, count in self.denied_counts.items()}
        return Totals(
            decisions={ALLOWED_LABEL: self.allowed_count} | denied,
            durations=tuple(self._durations),
            duration_sum=self._duration_sum,
        )

    def take_uses(self) -> dict[str, int]:
        """Return how often each key was used since the last call, the longest known first."""
        uses = self._uses
        batch = list(islice(uses, KEYS_PER_REPORT))
        return {key_id.decode(): uses.pop(key_id) for key_id in batch}


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
