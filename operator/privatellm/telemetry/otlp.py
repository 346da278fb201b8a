"""Spans to a collector, by OTLP over gRPC or HTTP.

Everything is set by the variables of the OpenTelemetry specification (endpoint, headers, certificates,
protocol, sampler, batching, resource), which the SDK reads by itself once
:mod:`privatellm.telemetry.otlp_settings` has checked them. Spans are handed to a thread that sends them
in batches and drops them when too many wait: a slow or absent collector costs nobody a pass or a request.
:mod:`privatellm.telemetry.delivery` counts what became of them.

Attributes are searched for secrets like log lines are, whatever the rule that nobody puts one there.
"""

import threading
from collections.abc import Mapping
from typing import Final, Self

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)
from typing_extensions import override

from privatellm.errors import InvalidInputError
from privatellm.telemetry.delivery import CountingBatches
from privatellm.telemetry.logs import without_secrets
from privatellm.telemetry.otlp_settings import (
    MAX_QUEUE_SIZE,
    OtlpProtocol,
    protocol_of,
    queue_size_of,
)
from privatellm.telemetry.tracing import Attribute, SpanRecord, SpanResult, TraceIdentity

CLOSE_SECONDS: Final = 5.0
"""How long the end of a process waits for its last spans."""

_INSTRUMENTATION: Final = "private-llm"


class OtlpSpans:
    """A sink of spans; one thread of the program may write to it."""

    def __init__(
        self,
        service: Mapping[str, Attribute],
        exporter: SpanExporter,
        queue_size: int = MAX_QUEUE_SIZE,
    ) -> None:
        """Start the thread that sends.

        Args:
            service: Attributes of the service beside those of the environment, which they override.
            exporter: How spans are sent.
            queue_size: How many spans may wait.
        """
        self._ids = _Ids()
        self._provider = TracerProvider(
            resource=Resource.create(dict(service)),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        self._batches = CountingBatches(exporter, queue_size)
        self._provider.add_span_processor(self._batches)
        self._tracer = self._provider.get_tracer(_INSTRUMENTATION)

    @classmethod
    def of_environment(cls, service: str, environ: Mapping[str, str]) -> Self:
        """Return a sink as the environment describes it.

        Args:
            service: The service's name, unless the environment has another one.
            environ: The process's environment.

        Raises:
            InvalidInputError: when the environment holds what the SDK refuses.
        """
        named = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        try:
            names: dict[str, Attribute] = {} if named else {SERVICE_NAME: service}
            return cls(names, _exporter(environ), queue_size_of(environ))
        except (ValueError, LookupError, RuntimeError) as error:
            raise InvalidInputError(
                f"The variables OTEL_* are such as OpenTelemetry's SDK takes; it refused: {error}. "
                "Correct the variable, or leave it out."
            ) from error

    @property
    def counts(self) -> Mapping[SpanResult, int]:
        """How many spans ended in which way, each way from the start."""
        return self._batches.counts

    def begin(self, span: SpanRecord, identity: TraceIdentity) -> None:
        """Write the first span of a trace, under the identity that others continue."""
        with self._ids.chosen(identity):
            started = self._start(span, Context())
        self._finish(span, started, Context())

    def continue_(self, span: SpanRecord, parent: TraceIdentity) -> None:
        """Write a span below another one."""
        context = self._context(parent, span.name)
        self._finish(span, self._start(span, context), context)

    def close(self) -> None:
        """Send what waits, but do not wait for long."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _context(self, parent: TraceIdentity, name: str) -> Context:
        is_sampled = parent.is_sampled
        if is_sampled is None:
            # What our sampler says about the first span of this trace, whoever writes that, and when.
            answer = self._provider.sampler.should_sample(None, parent.trace_id, name)
            is_sampled = answer.decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
        remote = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags)
        return trace.set_span_in_context(NonRecordingSpan(remote), Context())

    def _start(self, span: SpanRecord, context: Context) -> trace.Span:
        return self._tracer.start_span(
            span.name,
            context=context,
            kind=SpanKind.SERVER if span.is_server else SpanKind.INTERNAL,
            attributes={name: _clean(value) for name, value in span.attributes.items()},
            start_time=span.began,
        )

    def _finish(self, span: SpanRecord, started: trace.Span, context: Context) -> None:
        if started.is_recording():
            inner = trace.set_span_in_context(started, context)
            for child in span.children:
                self._finish(child, self._start(child, inner), inner)
            if span.error:
                started.set_status(Status(StatusCode.ERROR, without_secrets(span.error)))
        started.end(end_time=span.ended)


class _Chosen:
    """Makes the next span's ids the chosen ones."""

    def __init__(self, ids: "_Ids", identity: TraceIdentity) -> None:
        self._ids = ids
        self._identity = identity

    def __enter__(self) -> None:
        self._ids.identity = self._identity

    def __exit__(self, *_exc: object) -> None:
        self._ids.identity = None


class _Ids(RandomIdGenerator):
    """Random ids, but for a span whose ids are computed."""

    identity: TraceIdentity | None = None

    def chosen(self, identity: TraceIdentity) -> _Chosen:
        """Return what makes the next span the one of an identity."""
        return _Chosen(self, identity)

    @override
    def generate_trace_id(self) -> int:
        return self.identity.trace_id if self.identity else super().generate_trace_id()

    @override
    def generate_span_id(self) -> int:
        return self.identity.span_id if self.identity else super().generate_span_id()


def _exporter(environ: Mapping[str, str]) -> SpanExporter:
    match protocol_of(environ):
        case OtlpProtocol.GRPC:
            return GrpcExporter()
        case OtlpProtocol.HTTP:
            return HttpExporter()


def _clean(value: Attribute) -> Attribute:
    return without_secrets(value) if isinstance(value, str) else value
