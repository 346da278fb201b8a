"""When an order became Ready, and what it waited for: read off objects, pure but for a small memory.

An order is an object in one generation. It is open from the first pass that sees the generation and finds
no report about it, and reached when a report says that all of it is Ready. Only who saw both ends knows how
long it took: an order that was open when another process led is not measured, rather than guessed.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from privatellm.api.meta import parse_time
from privatellm.kube import Manifest
from privatellm.telemetry.tracing import SpanRecord
from privatellm_operator.observing.fetched import FetchResult, ended_fetches

REMEMBERED_ORDERS = 20_000
"""Open orders that are remembered; one that is never fulfilled is forgotten first."""

_SETTLED = frozenset({"Stopped", "Terminating", "Expired", "Revoked"})
"""Phases in which nobody waits for Ready any more."""

_UNFINISHED = "Rolling"
"""The reason of a Ready condition that still waits for some servers."""


class Occasion(StrEnum):
    """What an order was."""

    CREATED = "created"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Milestone:
    """An order that was fulfilled."""

    occasion: Occasion
    began: datetime
    reached: datetime

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max((self.reached - self.began).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class _Open:
    generation: int
    occasion: Occasion
    began: datetime


class OpenOrders:
    """The orders that wait, by the UID of their object."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def see(self, manifest: Manifest, now: datetime) -> None:
        """Open an order when a generation is seen about which nothing was reported yet."""
        metadata = manifest["metadata"]
        uid, generation = metadata["uid"], metadata.get("generation", 0)
        known = self._open.get(uid)
        observed = (manifest.get("status") or {}).get("observedGeneration")
        if observed == generation or (known is not None and known.generation == generation):
            return
        created = parse_time(metadata.get("creationTimestamp")) if generation == 1 else None
        occasion = Occasion.CREATED if created else Occasion.CHANGED
        self._open[uid] = _Open(generation, occasion, created or now)
        if len(self._open) > REMEMBERED_ORDERS:
            self._open.popitem(last=False)

    def reach(self, manifest: Manifest, now: datetime) -> Milestone | None:
        """Close an order that is fulfilled and return that; also close what nobody waits for."""
        uid = manifest["metadata"]["uid"]
        known, status = self._open.get(uid), manifest.get("status") or {}
        if known is None or status.get("observedGeneration") != known.generation:
            return None
        if status.get("phase") in _SETTLED:
            del self._open[uid]
        elif _is_ready(status):
            del self._open[uid]
            return Milestone(known.occasion, known.began, now)
        return None

    def forget(self, uid: str) -> None:
        """Close the order of an object that is gone."""
        self._open.pop(uid, None)


def _is_ready(status: Manifest) -> bool:
    conditions = status.get("conditions") or ()
    ready: Manifest = next((c for c in conditions if c.get("type") == "Ready"), {})
    return bool(ready.get("status") == "True" and ready.get("reason") != _UNFINISHED)


def pod_spans(pod: Manifest) -> Iterator[SpanRecord]:
    """Yield what a pod waited for (node, weights, load) as Kubernetes noted it, right to a second."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    times = {
        c["type"]: parse_time(c.get("lastTransitionTime")) for c in status.get("conditions") or ()
    }
    attributes = {"k8s.pod.name": metadata["name"], "k8s.namespace.name": metadata["namespace"]}
    yield from _between(
        "schedule",
        parse_time(metadata.get("creationTimestamp")),
        times.get("PodScheduled"),
        attributes,
    )
    for fetch in ended_fetches(pod):
        yield SpanRecord(
            "fetch",
            _nanoseconds(fetch.began),
            _nanoseconds(fetch.ended),
            attributes
            | {
                "private_llm.fetch.result": fetch.result.value,
                "private_llm.fetch.bytes": fetch.size_bytes,
            },
            "fetch failed" if fetch.result is FetchResult.FAILED else "",
        )
    yield from _between("load", _server_started(status), times.get("Ready"), attributes)


def _between(
    name: str, began: datetime | None, ended: datetime | None, attributes: dict[str, str]
) -> Iterator[SpanRecord]:
    if began is not None and ended is not None and began <= ended:
        yield SpanRecord(name, _nanoseconds(began), _nanoseconds(ended), attributes)


def _server_started(status: Manifest) -> datetime | None:
    states = (s.get("state") or {} for s in status.get("containerStatuses") or ())
    found = [parse_time((state.get("running") or {}).get("startedAt")) for state in states]
    return min((moment for moment in found if moment is not None), default=None)


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
