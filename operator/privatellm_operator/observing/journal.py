"""The frame around every pass: it tells logs, metrics and traces what the pass did.

One object in one generation is one trace, from the moment it was created to the moment it was Ready: passes
that changed something or failed, with their steps, and what the pods of an instance waited for. The first
span is written last, because only then its end is known.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import structlog

from privatellm.kube import Manifest, kinds
from privatellm.names import label_value
from privatellm.telemetry.passes import PassRecord, TellFailure, recorded
from privatellm.telemetry.tracing import (
    Attribute,
    SpanRecord,
    SpanSink,
    TraceIdentity,
    order_of,
)
from privatellm_operator.metrics import Metrics
from privatellm_operator.observing.fetched import FetchLedger
from privatellm_operator.observing.milestones import Milestone, OpenOrders, pod_spans
from privatellm_operator.observing.revocations import Revocations
from privatellm_operator.queue import Key
from privatellm_operator.world.cache import World
from privatellm_operator.world.watched import in_namespace

log = structlog.get_logger(__name__)

ORDERS: Final = frozenset({kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST})
"""Kinds that customers wait for."""


class Journal:
    """Tells what passes do."""

    def __init__(
        self,
        world: World,
        metrics: Metrics,
        clock: Callable[[], datetime],
        spans: SpanSink | None = None,
        revocations: Revocations | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            world: Where objects are looked at before and after a pass.
            metrics: What milestones and fetches are counted in.
            clock: Tells the time in UTC.
            spans: Where traces go; ``None`` when nobody wants them.
            revocations: Measures the ends of keys.
        """
        self._world = world
        self._metrics = metrics
        self._clock = clock
        self._spans = spans
        self._revocations = revocations or Revocations()
        self._orders = OpenOrders()
        self._ledger = FetchLedger(clock())

    def take_over(self, led_before: datetime | None) -> None:
        """Begin to lead: count the fetches that ended after another one led, and after now if none did.

        Args:
            led_before: When the leader before us said last that it leads. It counted what ended before.
        """
        now = self._clock()
        # A clock that was ahead must not keep us from counting until ours has caught up.
        self._ledger = FetchLedger(now if led_before is None else min(led_before, now))

    @contextmanager
    def frame(self, key: Key) -> Iterator[TellFailure]:
        """Record a pass and tell of it."""
        before = self._object(key)
        if before is not None and key.kind in ORDERS:
            self._orders.see(before, self._clock())
        identity = order_of(before) if before is not None and self._spans is not None else None
        with self._named(identity):
            with recorded() as record:
                yield record.fail
            self._tell(key, record, before, identity)

    @contextmanager
    def _named(self, identity: TraceIdentity | None) -> Iterator[None]:
        """Put the trace's id into every log line of a pass, where there are traces."""
        if identity is None:
            yield
            return
        with structlog.contextvars.bound_contextvars(trace_id=identity.trace_hex):
            yield

    def _object(self, key: Key) -> Manifest | None:
        return self._world[key.kind].get(key.namespace, key.name)

    def _tell(
        self,
        key: Key,
        record: PassRecord,
        before: Manifest | None,
        identity: TraceIdentity | None,
    ) -> None:
        after = self._object(key)
        self._revocations.note(record)
        if record.changes:
            _write_line(key, record, before, after)
        if self._spans is not None and identity is not None and (record.changes or record.error):
            self._spans.continue_(record.span(f"pass {key.kind.name}", _names(key)), identity)
        if before is not None and after is None:
            self._orders.forget(before["metadata"]["uid"])
        if after is not None and key.kind in ORDERS:
            self._follow(key, after)

    def _follow(self, key: Key, after: Manifest) -> None:
        """Count what ended: fetches of an instance's pods, and the wait for Ready."""
        pods = self._pods(key)
        for pod in pods:
            for fetch in self._ledger.news(pod):
                self._metrics.fetch_ended(fetch)
        milestone = self._orders.reach(after, self._clock())
        if milestone is None:
            return
        if key.kind is kinds.LLM_INSTANCE:
            self._metrics.became_ready(milestone.occasion.value, milestone.seconds)
        log.info(
            "order fulfilled",
            object=key.label,
            occasion=milestone.occasion.value,
            seconds=round(milestone.seconds, 3),
        )
        if self._spans is not None:
            self._spans.begin(_order_span(key, after, milestone, pods), order_of(after))

    def _pods(self, key: Key) -> tuple[Manifest, ...]:
        if key.kind is not kinds.LLM_INSTANCE:
            return ()
        return self._world[kinds.POD].find(in_namespace(key.namespace, label_value(key.name)))


def _write_line(
    key: Key, record: PassRecord, before: Manifest | None, after: Manifest | None
) -> None:
    was, phase = _phase(before), _phase(after)
    log.info(
        "pass changed",
        object=key.label,
        changes=record.changes,
        seconds=record.seconds,
        **({"phase": phase} if phase else {}),
        **({"was": was} if was and was != phase else {}),
    )


def _phase(manifest: Manifest | None) -> str:
    return str(((manifest or {}).get("status") or {}).get("phase") or "")


def _names(key: Key) -> dict[str, Attribute]:
    return {
        "private_llm.object.kind": key.kind.name,
        "private_llm.object.name": key.name,
        "k8s.namespace.name": key.namespace,
    }


def _order_span(
    key: Key, manifest: Manifest, milestone: Milestone, pods: tuple[Manifest, ...]
) -> SpanRecord:
    metadata = manifest["metadata"]
    facts: dict[str, Attribute] = {
        "k8s.object.uid": metadata["uid"],
        "private_llm.object.generation": metadata.get("generation", 0),
        "private_llm.occasion": milestone.occasion.value,
    }
    began = int(milestone.began.timestamp() * 1_000_000) * 1000
    # Pods of an earlier order did not keep this one waiting.
    spans = tuple(span for pod in pods for span in pod_spans(pod) if span.began >= began)
    return SpanRecord(
        f"order {key.kind.name}",
        began,
        int(milestone.reached.timestamp() * 1_000_000) * 1000,
        _names(key) | facts,
        children=spans,
    )
