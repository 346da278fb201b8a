"""What becomes of spans on their way to a collector, counted.

OpenTelemetry's batch processor throws away what waits longest when too much waits, and says so in a log
line alone; so does an exporter that gives up. Here every span that is kept ends in one of three counts. The
queue is bounded in front of the SDK's, which therefore never overflows: nothing of its inside is read, and
as in other languages' SDKs it is the newest span that finds no room.

Two things are in no count: what still waits when the process ends, and what a collector refuses of a batch
that it takes (OTLP's partial success), which Python's exporters do not look at.
"""

import logging
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from typing_extensions import override

from privatellm.telemetry.tracing import SpanResult

_log = logging.getLogger(__name__)


class CountingBatches(BatchSpanProcessor):
    """A batch processor that counts what becomes of its spans; one thread may hand spans over."""

    def __init__(self, exporter: SpanExporter, queue_size: int) -> None:
        """Start the thread that sends.

        Args:
            exporter: How spans are sent.
            queue_size: How many spans may wait.
        """
        self.counts = dict.fromkeys(SpanResult, 0)
        self._queue_size = queue_size
        self._handed_over = 0
        self._counting = _CountingExporter(exporter, self.counts)
        super().__init__(self._counting, max_queue_size=queue_size)

    @override
    def on_end(self, span: ReadableSpan) -> None:
        if not (span.context and span.context.trace_flags.sampled):
            return
        # Each number has one thread that writes it. Between the moment when a batch leaves the SDK's queue
        # and the one when the exporter has it, more seem to wait than do: that errs on the safe side.
        if self._handed_over - self._counting.taken >= self._queue_size:
            self.counts[SpanResult.DROPPED] += 1
            _log.warning("span dropped: %d wait for the collector already", self._queue_size)
            return
        self._handed_over += 1
        super().on_end(span)


class _CountingExporter(SpanExporter):
    """Counts by result what another exporter is given; the thread that sends is the only one here."""

    def __init__(self, exporter: SpanExporter, counts: dict[SpanResult, int]) -> None:
        self.taken = 0
        self._exporter = exporter
        self._counts = counts

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        result = SpanResult.FAILED
        try:
            exported = self._exporter.export(spans)
            if exported is SpanExportResult.SUCCESS:
                result = SpanResult.SENT
            return exported
        finally:
            self._counts[result] += len(spans)

    @override
    def shutdown(self) -> None:
        self._exporter.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)
