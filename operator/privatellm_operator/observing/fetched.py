"""Fetches that ended, as the pods of instances tell.

A fetcher reports a success in its container's termination message and a failure in its exit code;
Kubernetes adds when it began and ended. So nobody has to be asked, and a fetch that ended while the
operator looked away is still seen. Pods live in tenants' namespaces: what they say is bounded, counted and
otherwise not believed.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from privatellm.api.meta import parse_time
from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm_operator.render.fetcher import FETCHER

REMEMBERED_PODS = 20_000
"""Pods whose last counted fetch is remembered."""

LARGEST = 10**13
"""Bytes of the largest weights that are believed."""


class FetchResult(StrEnum):
    """How a fetch ended."""

    FETCHED = "fetched"
    PRESENT = "present"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EndedFetch:
    """One fetch that ended.

    Attributes:
        result: How.
        began: When the fetcher started.
        ended: When it ended.
        size_bytes: Size of the file; 0 when that is not known.
    """

    result: FetchResult
    began: datetime
    ended: datetime
    size_bytes: int = 0

    @property
    def seconds(self) -> float:
        """How long it took, right to a second."""
        return max((self.ended - self.began).total_seconds(), 0.0)


def ended_fetches(pod: Manifest) -> Iterator[EndedFetch]:
    """Yield the ends of a pod's fetcher that its status still tells of, the earlier one first."""
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or ()
    for status in statuses:
        if status.get("name") == FETCHER:
            for state in ("lastState", "state"):
                yield from _ended((status.get(state) or {}).get("terminated") or {})


def _ended(terminated: Manifest) -> Iterator[EndedFetch]:
    began = parse_time(terminated.get("startedAt"))
    ended = parse_time(terminated.get("finishedAt"))
    if began is None or ended is None:
        return
    if terminated.get("exitCode") != 0:
        yield EndedFetch(FetchResult.FAILED, began, ended)
        return
    report = _report(str(terminated.get("message", "")))
    result = FetchResult.PRESENT if report.get("present") is True else FetchResult.FETCHED
    yield EndedFetch(result, began, ended, _size(report.get("sizeBytes")))


def _report(message: str) -> dict[str, Any]:
    try:
        found = parse_json(message)
    except InvalidInputError:
        return {}
    return found if isinstance(found, dict) else {}


def _size(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and isinstance(value, int) and 0 <= value <= LARGEST else 0


class FetchLedger:
    """Tells of each fetch once, and of none that ended before it began.

    It holds a bounded number of pods, so that nobody has to tell it when one is gone.
    """

    def __init__(self, since: datetime) -> None:
        """Begin.

        Args:
            since: What ended before is somebody else's to count.
        """
        self._since = since
        self._counted: OrderedDict[str, datetime] = OrderedDict()

    def news(self, pod: Manifest) -> tuple[EndedFetch, ...]:
        """Return the fetches of a pod that were not told of yet."""
        uid = pod["metadata"]["uid"]
        horizon = self._counted.get(uid, self._since)
        found = tuple(fetch for fetch in ended_fetches(pod) if fetch.ended > horizon)
        if found:
            self._counted[uid] = found[-1].ended
            self._counted.move_to_end(uid)
            if len(self._counted) > REMEMBERED_PODS:
                self._counted.popitem(last=False)
        return found
