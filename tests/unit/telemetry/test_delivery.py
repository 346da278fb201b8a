"""What becomes of spans is counted: against real collectors, one that is away, and one that is slow."""

import re
import threading
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from prometheus_client import CollectorRegistry, generate_latest
from typing_extensions import override

from bare_servers import free_port
from privatellm.telemetry.exposition import SpanCollector, show_spans
from privatellm.telemetry.families import operator as families
from privatellm.telemetry.families.spans import RESULT
from privatellm.telemetry.otlp import OtlpSpans
from privatellm.telemetry.tracing import CountingSink, SpanRecord, SpanResult, TraceIdentity
from telemetry_collector import COLLECTORS
from telemetry_parts import samples

PROTOCOLS = tuple(COLLECTORS)
ORDER = TraceIdentity.of("order", "some-uid", 1)
UNSAMPLED = TraceIdentity(1, 1, is_sampled=False)
SOON = 10.0


def sink_for(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], **more: str
) -> OtlpSpans:
    """Return a sink as a program with these variables has it."""
    environ = environment | more
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return OtlpSpans.of_environment("a-part", environ)


def write(sink: CountingSink, number: int, parent: TraceIdentity = ORDER) -> None:
    """Write spans of one trace."""
    for _ in range(number):
        sink.continue_(SpanRecord("pass", 1, 2), parent)


def counted(sent: int = 0, failed: int = 0, dropped: int = 0) -> dict[SpanResult, int]:
    return {SpanResult.SENT: sent, SpanResult.FAILED: failed, SpanResult.DROPPED: dropped}


class Held(SpanExporter):
    """An exporter that waits with each batch until it is let go, and then does as it was told."""

    def __init__(self, result: SpanExportResult | Exception = SpanExportResult.SUCCESS) -> None:
        self.is_busy, self.may_go_on = threading.Event(), threading.Event()
        self._result = result

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.is_busy.set()
        assert self.may_go_on.wait(SOON)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_spans_that_a_collector_takes_are_sent(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them, children as well."""
    with COLLECTORS[protocol]() as collector:
        sink = sink_for(monkeypatch, collector.environment)
        assert sink.counts == counted()

        sink.continue_(SpanRecord("pass", 1, 2, children=(SpanRecord("write", 1, 2),)), ORDER)
        write(sink, 3)
        sink.close()

    assert len(collector.spans) == 5
    assert sink.counts == counted(sent=5)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_spans_for_a_collector_that_is_away_have_failed(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the exporter has given up."""
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
    }
    sink = sink_for(monkeypatch, environment, OTEL_EXPORTER_OTLP_TIMEOUT="0.2")

    write(sink, 3)
    sink.close()

    assert sink.counts == counted(failed=3)


def test_spans_that_find_no_room_are_dropped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that wait are sent: it is the newest that is lost, and one line of the log says so."""
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    exporter = Held()
    sink = OtlpSpans({}, exporter, queue_size=4)
    write(sink, 4)
    assert exporter.is_busy.wait(SOON)

    write(sink, 4)
    assert sink.counts == counted()
    write(sink, 3)
    assert sink.counts == counted(dropped=3)

    exporter.may_go_on.set()
    sink.close()
    assert sink.counts == counted(sent=8, dropped=3)
    assert {record.getMessage() for record in caplog.records} == {
        "span dropped: 4 wait for the collector already"
    }


def test_spans_of_an_exporter_that_breaks_have_failed(caplog: pytest.LogCaptureFixture) -> None:
    """The SDK goes on after it, and so do we."""
    exporter = Held(OSError("no way"))
    exporter.may_go_on.set()
    sink = OtlpSpans({}, exporter)

    write(sink, 2)
    sink.close()

    assert sink.counts == counted(failed=2)
    assert "Exception while exporting Span." in caplog.text


def test_a_span_that_is_not_kept_is_not_counted() -> None:
    """It was never meant to arrive."""
    sink = OtlpSpans({}, Held())

    write(sink, 9, UNSAMPLED)
    sink.close()

    assert sink.counts == counted()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_span_is_counted_twice_or_not_at_all(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with more than a collector takes in time; what it has is what was sent."""
    with COLLECTORS[protocol]() as collector:
        sink = sink_for(
            monkeypatch,
            collector.environment,
            OTEL_BSP_MAX_QUEUE_SIZE="32",
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE="8",
        )
        write(sink, 1_000)
        sink.close()

    assert sum(sink.counts.values()) == 1_000
    assert sink.counts[SpanResult.SENT] == len(collector.spans) >= 32
    assert sink.counts[SpanResult.FAILED] == 0


def test_a_scrape_reads_each_result_from_the_start() -> None:
    """So that a rate of what never happened before begins at zero."""
    counts = counted()
    registry = CollectorRegistry()
    registry.register(SpanCollector(families.SPANS, counts))

    def shown() -> dict[str, float]:
        return {s.labels["result"]: s.value for s in samples(generate_latest(registry))}

    assert shown() == {"sent": 0, "failed": 0, "dropped": 0}
    counts[SpanResult.DROPPED] += 2
    assert shown() == {"sent": 0, "failed": 0, "dropped": 2}


def test_a_process_without_traces_shows_nothing_of_them() -> None:
    """Rather than zeros about what it does not do."""
    registry = CollectorRegistry()

    show_spans(registry, families.SPANS, None)

    assert samples(generate_latest(registry)) == ()


def test_every_result_is_described() -> None:
    """A renamed one must not leave its old word behind."""
    assert re.findall("`(.*?)`", RESULT.values) == [result.value for result in SpanResult]
