"""What the supervisor knows about its workers; no process is started here.

A worker counts as ready from its own last report alone: it must be recent, and its index fresh. What a
worker counted stays counted when it ends, so that metrics never run backwards.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from privatellm_authserver import clocks
from privatellm_authserver.clocks import Uptime
from privatellm_authserver.reports import Report, Totals, total

SILENCE_SECONDS: Final = 5.0
"""A worker that has not reported for this long is not ready."""

REMEMBER_SECONDS: Final = 3600.0
"""How long a key's last use or end is offered to the operator, which asks far more often."""

MOST_KEYS: Final = 200_000
"""Keys of which a time is remembered at most; the least recently reported are forgotten first."""


class WorkerState:
    """One place in the fleet, whichever process fills it."""

    def __init__(self, number: int, uptime: Uptime) -> None:
        self.number = number
        self.restarts = 0
        self.report: Report | None = None
        self._reported_at = 0.0
        self._earlier = Totals()
        self._uptime = uptime

    def take(self, report: Report) -> None:
        """Note a report."""
        self.report = report
        self._reported_at = self._uptime()

    def ended(self) -> None:
        """Note that the process is gone and another will follow."""
        self._earlier = self.totals()
        self.report = None
        self.restarts += 1

    def totals(self) -> Totals:
        """Return what all processes in this place have counted."""
        return self._earlier + self.report.totals if self.report else self._earlier

    def why_not_ready(self, max_staleness: float) -> str:
        """Return in a sentence why this worker must not be asked; empty when it may be.

        Args:
            max_staleness: Seconds for which an index may be used after its last confirmation.
        """
        if self.report is None:
            return "The worker is not running yet."
        now = self._uptime()
        if now - self._reported_at > SILENCE_SECONDS:
            return f"The worker has been silent for {now - self._reported_at:.0f} s."
        if self.report.confirmed_at is None:
            return f"The worker has not seen all verifiers yet. {self.report.problem}".strip()
        if now - self.report.confirmed_at > max_staleness:
            age = now - self.report.confirmed_at
            return f"The worker's index is {age:.0f} s old. {self.report.problem}".strip()
        return ""


class KeyTimes:
    """One time for each key, the latest that a worker reported; the least recently reported come first."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._times: dict[str, float] = {}
        self._wall = wall

    def merge(self, times: Mapping[str, float]) -> None:
        """Take in what one worker reports, as Unix times by key id."""
        for key_id, wall in times.items():
            # Taken out and put back, so that the order of the dictionary is that of reports.
            self._times[key_id] = max(wall, self._times.pop(key_id, wall))
        while len(self._times) > MOST_KEYS:
            del self._times[next(iter(self._times))]

    def since(self, start: datetime | None) -> dict[str, datetime]:
        """Return the time of each key whose time is at or after ``start``, and within the last hour."""
        horizon = self._wall() - REMEMBER_SECONDS
        self._times = {
            key_id: moment for key_id, moment in self._times.items() if moment >= horizon
        }
        earliest = start.timestamp() if start else horizon
        return {
            key_id: datetime.fromtimestamp(moment, UTC)
            for key_id, moment in self._times.items()
            if moment >= earliest
        }

    def settled(self, start: datetime | None) -> dict[str, datetime]:
        """Return what :meth:`since` does, but for times so recent that a worker may still report later."""
        horizon = datetime.fromtimestamp(self._wall() - SILENCE_SECONDS, UTC)
        return {key_id: moment for key_id, moment in self.since(start).items() if moment <= horizon}


class KeyUses:
    """How often each key was used here; the least recently reported are forgotten first.

    Attributes:
        counting_since: When counting began: who compares two counts must see that they began alike.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._counts: dict[str, int] = {}
        self.counting_since = datetime.fromtimestamp(wall(), UTC)

    def add(self, uses: Mapping[str, int]) -> None:
        """Add what one worker counted since its last report."""
        for key_id, count in uses.items():
            # Taken out and put back, so that the order of the dictionary is that of reports.
            self._counts[key_id] = self._counts.pop(key_id, 0) + count
        while len(self._counts) > MOST_KEYS:
            del self._counts[next(iter(self._counts))]

    def of(self, key_ids: Iterable[str]) -> dict[str, int]:
        """Return how often each of these keys was used."""
        return {key_id: self._counts.get(key_id, 0) for key_id in key_ids}

    def all(self) -> dict[str, int]:
        """Return how often each key was used that is remembered."""
        return dict(self._counts)


class Fleet:
    """All workers of this pod.

    Attributes:
        workers: Their states, by number.
        last_use: When keys were last used.
        uses: How often.
        refused_since: Since when ended keys are refused, by the worker that noticed last.
        draining: Whether this pod is about to end and wants no new requests.
    """

    def __init__(self, size: int, uptime: Uptime = clocks.uptime) -> None:
        self.workers = tuple(WorkerState(number, uptime) for number in range(size))
        self.last_use = KeyTimes()
        self.uses = KeyUses()
        self.refused_since = KeyTimes()
        self.draining = False

    def take(self, worker: WorkerState, report: Report) -> None:
        """Take in what a worker reports."""
        worker.take(report)
        self.last_use.merge(dict.fromkeys(report.uses, report.told_at))
        self.uses.add(report.uses)
        self.refused_since.merge(report.refused_since)

    def totals(self) -> Totals:
        """Return everything counted by all workers, ended ones included."""
        return total(worker.totals() for worker in self.workers)

    def why_not_ready(self, max_staleness: float) -> dict[str, str]:
        """Return the reasons against sending requests here, by worker; empty when there are none."""
        if self.draining:
            return {"pod": "The pod is shutting down."}
        reasons = {str(w.number): w.why_not_ready(max_staleness) for w in self.workers}
        return {number: reason for number, reason in reasons.items() if reason}
