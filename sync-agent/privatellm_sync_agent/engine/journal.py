"""The frame around every pass: it tells the log, and whoever wants traces, what the pass did.

A pass that wrote something is one line, whatever the number of its writes. Its span belongs to the trace of
the order that the copy is: the operator of the service cluster computes the same identity from the copy, so
one trace leads from a workspace to the model server. A pass before there is a copy has no such trace yet,
but it ends with one, which is that of the copy it made: the watch may not have delivered it by then.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from privatellm.telemetry.passes import PassRecord, TellFailure, recorded
from privatellm.telemetry.tracing import SpanSink, TraceIdentity, order_of
from privatellm_sync_agent.engine.world import World
from privatellm_sync_agent.naming.names import Identity

log = structlog.get_logger(__name__)


class Journal:
    """Tells what the passes of one published resource do."""

    def __init__(self, resource: str, world: World, spans: SpanSink | None = None) -> None:
        """Put the parts together.

        Args:
            resource: Name of the PublishedResource.
            world: Where copies are found.
            spans: Where traces go; ``None`` when nobody wants them.
        """
        self._resource = resource
        self._world = world
        self._spans = spans

    @contextmanager
    def frame(self, identity: Identity) -> Iterator[TellFailure]:
        """Record a pass over an object and tell of it."""
        before = self._order(identity)
        context = {"trace_id": before.trace_hex} if before is not None else {}
        try:
            with structlog.contextvars.bound_contextvars(**context), recorded() as record:
                yield record.fail
            self._tell(identity, record, before or self._order(identity))
        finally:
            self._world.placed.pop(identity, None)

    def _tell(self, identity: Identity, record: PassRecord, order: TraceIdentity | None) -> None:
        if record.changes:
            log.info(
                "pass changed",
                resource=self._resource,
                object=str(identity),
                changes=record.changes,
                seconds=record.seconds,
                **({"trace_id": order.trace_hex} if order is not None else {}),
            )
        if self._spans is not None and order is not None and (record.changes or record.error):
            attributes = {
                "private_llm.object.name": identity.name,
                "private_llm.resource": self._resource,
                "private_llm.cluster": identity.cluster,
            }
            self._spans.continue_(record.span("sync", attributes), order)

    def _order(self, identity: Identity) -> TraceIdentity | None:
        """Return the identity of the order that the copy is; ``None`` without traces or a copy."""
        if self._spans is None:
            return None
        copies = self._world.copies.indexed(identity)
        copy = copies[0] if copies else self._world.placed.get(identity)
        return order_of(copy) if copy is not None else None
