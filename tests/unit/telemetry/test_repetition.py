"""What a library repeats is written at a bounded rate, and what is left out is counted."""

import json
import logging
from itertools import pairwise

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from bare_servers import free_port
from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm.telemetry.otlp import OtlpSpans
from privatellm.telemetry.repetition import REPEAT_SECONDS, SUPPRESSED, RepeatedLines
from privatellm.telemetry.tracing import SpanRecord, TraceIdentity

EXPORTER = "opentelemetry.exporter.otlp.common.http"
GRPC_EXPORTER = "opentelemetry.exporter.otlp.proto.grpc.exporter"
ORDER = TraceIdentity.of("order", "some-uid", 1)

pytestmark = pytest.mark.usefixtures("logging_as_before")


def line(created: float, logger: str = EXPORTER, number: int = 1) -> logging.LogRecord:
    """Return a line that a place in the source writes at a time."""
    record = logging.LogRecord(logger, logging.WARNING, "a.py", number, "away", None, None)
    record.created = created
    return record


def suppressed(record: logging.LogRecord) -> int:
    return int(getattr(record, SUPPRESSED, 0))


def test_a_thousand_lines_become_few_and_the_first_and_the_count_survive() -> None:
    """Twenty seconds of them are one line, and the next minute's tells of the others."""
    limit = RepeatedLines(("opentelemetry.",))
    lines = [line(moment * 0.1) for moment in range(1_000)]

    written = [one for one in lines if limit.filter(one)]

    assert written == [lines[0], lines[600]]
    assert [suppressed(one) for one in written] == [0, 599]


@given(st.lists(st.floats(0, 100_000), max_size=60))
def test_no_line_is_lost_without_being_counted(moments: list[float]) -> None:
    """Whatever the clock does: a line is written, told of by a later one, or waits to be told of."""
    limit = RepeatedLines(("opentelemetry.",))
    lines = [line(moment) for moment in [*moments, 10**9]]

    written = [one for one in lines if limit.filter(one)]

    assert len(lines) == len(written) + sum(map(suppressed, written))
    assert written[0] is lines[0]
    assert all(
        later.created < earlier.created or later.created - earlier.created >= REPEAT_SECONDS
        for earlier, later in pairwise(written)
    )


def test_each_kind_of_line_has_a_limit_of_its_own() -> None:
    """The last attempt is not hidden by the first ones."""
    limit = RepeatedLines(("opentelemetry.",))

    assert [limit.filter(line(0.0, number=number)) for number in (1, 2, 1)] == [True, True, False]


def test_other_loggers_write_what_they_like() -> None:
    """They have no limit, or one of their own."""
    limit = RepeatedLines(("opentelemetry.",))

    assert all(limit.filter(line(0.0, logger="privatellm.audit")) for _ in range(10))


def test_a_clock_that_was_put_back_silences_nothing() -> None:
    """Else a line would wait until the clock is where it was."""
    limit = RepeatedLines(("opentelemetry.",))

    assert limit.filter(line(10_000.0))
    assert limit.filter(line(1_000.0))


@pytest.mark.parametrize(
    "logger",
    [logging.getLogger(EXPORTER), structlog.stdlib.get_logger("privatellm.telemetry.delivery")],
    ids=["theirs", "ours"],
)
def test_a_program_writes_a_repeated_line_once(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that programs write going through one handler; a minute later the count follows."""
    configure_logging(LogFormat.JSON, "info")
    clock = [1_000_000.0]
    monkeypatch.setattr(logging.time, "time", lambda: clock[0])  # type: ignore[attr-defined]

    for moment in [*[0.0] * 1_000, REPEAT_SECONDS]:
        clock[0] = 1_000_000.0 + moment
        logger.warning("away")

    first, last = (json.loads(text) for text in capsys.readouterr().err.splitlines())
    assert (first["event"], first.get("suppressed")) == ("away", None)
    assert (last["event"], last["suppressed"]) == ("away", 999)


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_collector_that_is_away_costs_a_few_lines(
    protocol: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many batches of spans fail; the first failure is told."""
    configure_logging(LogFormat.JSON, "info")
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_TIMEOUT": "0.05",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
    }
    # A filter of its own swallows what it wrote in these seconds, also for another test.
    monkeypatch.setattr(logging.getLogger(GRPC_EXPORTER), "filters", [])
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    sink = OtlpSpans.of_environment("a-part", environ)

    for _ in range(30):
        sink.continue_(SpanRecord("pass", 1, 2), ORDER)
    sink.close()

    written = [json.loads(text)["event"] for text in capsys.readouterr().err.splitlines()]
    assert 1 <= len(written) <= 3
    assert any("export" in event for event in written)
