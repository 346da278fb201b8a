"""Spans that really arrive: at a gRPC server of OTLP's own service, and at an HTTP one."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from privatellm.errors import InvalidInputError
from privatellm.telemetry.tracing import SpanRecord, TraceIdentity, is_wanted, open_sink, spans_of
from telemetry_collector import COLLECTORS, Collector, attributes_of

TOKEN = "pllm_abcdefghijkl_" + "s" * 49
ORDER = TraceIdentity.of("order", "some-uid", 1)


@pytest.fixture(params=COLLECTORS, ids=lambda protocol: protocol.partition("/")[0])
def collector(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Collector]:
    """A collector that this process is told of."""
    with COLLECTORS[request.param]() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


def send(*spans: tuple[str, SpanRecord, TraceIdentity]) -> None:
    """Send spans as a program does, and end."""
    with spans_of("a-part", os.environ) as sink:
        for how, span, identity in spans:
            getattr(sink, how)(span, identity)


def by_name(collector: Collector) -> dict[str, Span]:
    return {span.name: span for span in collector.spans}


def test_a_tree_of_spans_arrives_as_it_was(collector: Collector) -> None:
    """Names, times, attributes, failures and who is below whom."""
    write = SpanRecord("apply deployments", 1_100, 1_200, {"n": 1}, error="ConflictError")
    whole = SpanRecord("pass", 1_000, 2_000, {"kind": "LLMInstance"}, children=(write,))

    send(("continue_", whole, ORDER))

    found = by_name(collector)
    assert collector.services == {"a-part"}
    assert found["pass"].trace_id.hex() == ORDER.trace_hex
    assert found["pass"].parent_span_id.hex() == ORDER.span_hex
    assert found["apply deployments"].parent_span_id == found["pass"].span_id
    assert (found["pass"].start_time_unix_nano, found["pass"].end_time_unix_nano) == (1_000, 2_000)
    assert attributes_of(found["pass"]) == {"kind": "LLMInstance"}
    assert found["apply deployments"].status.message == "ConflictError"


def test_the_first_span_of_a_trace_is_found_by_those_that_came_before_it(
    collector: Collector,
) -> None:
    """They named it as their parent, maybe from another process."""
    send(
        ("continue_", SpanRecord("pass", 1_000, 2_000), ORDER),
        ("begin", SpanRecord("order", 500, 3_000, children=(SpanRecord("fetch", 1, 2),)), ORDER),
    )

    found = by_name(collector)
    assert found["order"].span_id == found["pass"].parent_span_id
    assert found["order"].trace_id == found["pass"].trace_id == found["fetch"].trace_id
    assert found["order"].parent_span_id == b""
    assert found["fetch"].parent_span_id == found["order"].span_id
    assert found["fetch"].span_id != found["order"].span_id


def test_no_secret_leaves_in_an_attribute(collector: Collector) -> None:
    """Whatever somebody put there by mistake."""
    span = SpanRecord("x", 1, 2, {"a": f"key {TOKEN}"}, error=f"no {TOKEN}")

    send(("continue_", span, ORDER))

    (request,) = collector.requests
    assert TOKEN.encode() not in request.SerializeToString()
    assert attributes_of(collector.spans[0]) == {"a": "key pllm_abcdefghijkl_[hidden]"}


@pytest.mark.parametrize(("sampler", "kept"), [("always_off", 0), ("always_on", 3)])
def test_the_sampler_of_the_environment_decides_about_a_whole_trace(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, sampler: str, kept: int
) -> None:
    """Also about passes that are told of before the first span."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", f"parentbased_{sampler}")

    send(
        ("continue_", SpanRecord("pass", 1, 2, children=(SpanRecord("write", 1, 2),)), ORDER),
        ("begin", SpanRecord("order", 1, 2), ORDER),
    )

    assert len(collector.spans) == kept


def test_a_share_of_traces_is_kept_whole(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process comes to the same conclusion about a trace, from its id alone."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    orders = [TraceIdentity.of("order", f"uid-{number}", 1) for number in range(60)]

    for how in ("continue_", "begin"):
        send(*((how, SpanRecord(how, 1, 2), order) for order in orders))

    passes, firsts = (
        {span.trace_id for span in collector.spans if span.name == how}
        for how in ("continue_", "begin")
    )
    assert passes == firsts
    assert 0 < len(passes) < len(orders)


def test_what_waits_is_sent_when_a_program_ends_by_a_failure(collector: Collector) -> None:
    """Its last spans are those that somebody looks for; the failure goes on."""

    def program() -> None:
        with spans_of("a-part", os.environ) as sink:
            assert sink is not None
            sink.continue_(SpanRecord("pass", 1, 2), ORDER)
            raise OSError("no way")

    with pytest.raises(OSError, match="no way"):
        program()

    assert by_name(collector).keys() == {"pass"}


def test_who_sends_no_traces_has_nowhere_to_write_spans_to() -> None:
    """And nothing to wait for at the end."""
    with spans_of("a-part", {}) as sink:
        assert sink is None


def test_headers_and_resource_come_from_the_environment(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the OpenTelemetry specification says."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=platform")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "another-name")

    send(("continue_", SpanRecord("pass", 1, 2), ORDER))

    assert collector.services == {"another-name"}
    assert collector.metadata[0]["x-tenant"] == "platform"


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "None"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "NONE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "otlp"}, True),
    ],
    ids=str,
)
def test_traces_are_sent_when_the_environment_names_a_collector(
    environ: dict[str, str], wanted: bool
) -> None:
    assert is_wanted(environ) is wanted


def test_an_unknown_protocol_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the start, where somebody reads it."""
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
    }

    with pytest.raises(InvalidInputError, match="grpc or http/protobuf; got 'http/json'"):
        open_sink("a-part", environ)


def test_who_sends_no_traces_loads_nothing_of_opentelemetry() -> None:
    """Its import costs time and memory."""
    program = (
        "import sys; from privatellm.telemetry.tracing import open_sink; "
        "import privatellm_authserver.worker, privatellm_operator.main; "
        "assert open_sink('x', {}) is None; "
        "print(sorted(n for n in sys.modules if n.startswith(('opentelemetry', 'grpc'))))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "[]"
