"""Traces as values: what happened, from when to when, told after it happened.

Whether something is worth a span is often known only at its end (a pass that changed nothing is not), and
the trace of an order goes through many passes and processes. So programs note times in plain values and
hand over whole trees of spans; :mod:`privatellm.telemetry.otlp` turns them into OpenTelemetry's spans. Who
sends no traces loads none of it: the environment of the OpenTelemetry specification decides, and without an
endpoint there is no sink at all.

A trace that many passes write to has an identity that each of them can compute: that of the object and its
generation. The decision behind it is ADR 50.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from privatellm.telemetry.otlp_settings import check_settings

Attribute = str | int | float | bool

_TRACEPARENT: Final = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
"""The only version of the W3C's header that there is; a later one may be longer and is not for us."""

_SAMPLED: Final = 1

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@dataclass(frozen=True, slots=True)
class TraceIdentity:
    """A span that others continue.

    Attributes:
        trace_id: 128 bits, not zero.
        span_id: 64 bits, not zero.
        is_sampled: Whether the trace is kept; ``None`` leaves that to our own sampler.
    """

    trace_id: int
    span_id: int
    is_sampled: bool | None = None

    @classmethod
    def of(cls, *names: object) -> "TraceIdentity":
        """Return the identity that everybody computes who knows these names."""
        digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
        # Zero means "none"; the lowest bit keeps it away, whatever the digest is.
        return cls(int.from_bytes(digest[:16], "big") | 1, int.from_bytes(digest[16:24], "big") | 1)

    @property
    def trace_hex(self) -> str:
        """The trace's id as log lines and trace viewers write it."""
        return f"{self.trace_id:032x}"

    @property
    def span_hex(self) -> str:
        """The span's id as trace viewers write it."""
        return f"{self.span_id:016x}"


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """Something that took time.

    Attributes:
        name: What, with few different values.
        began: Unix time in nanoseconds.
        ended: Unix time in nanoseconds.
        attributes: Details; never a secret.
        error: Why it failed, in a word; empty when it did not.
        children: What it consisted of.
        is_server: Whether it answered somebody's request.
    """

    name: str
    began: int
    ended: int
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    error: str = ""
    children: tuple["SpanRecord", ...] = ()
    is_server: bool = False


def order_of(manifest: Mapping[str, Any]) -> TraceIdentity:
    """Return the identity of the trace of an object in its generation; every process computes the same."""
    metadata = manifest["metadata"]
    return TraceIdentity.of("order", metadata["uid"], metadata.get("generation", 0))


class SpanSink(Protocol):
    """Takes finished spans; never waits for a network."""

    def begin(self, span: SpanRecord, identity: TraceIdentity) -> None:
        """Write the first span of a trace, under the identity that others continue."""

    def continue_(self, span: SpanRecord, parent: TraceIdentity) -> None:
        """Write a span below another one."""

    def close(self) -> None:
        """Send what waits, but do not wait for long."""


class SpanResult(StrEnum):
    """What became of a span that is kept."""

    SENT = "sent"
    """The collector took it."""
    FAILED = "failed"
    """The collector did not take it, however often it was asked."""
    DROPPED = "dropped"
    """Too many waited already."""


class CountingSink(SpanSink, Protocol):
    """Takes finished spans, and counts what becomes of them."""

    @property
    def counts(self) -> Mapping[SpanResult, int]:
        """How many spans ended in which way, each way from the start."""


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Say whether the environment wants traces to be sent."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    has_endpoint = any(environ.get(name, "").strip() for name in _ENDPOINTS)
    return has_endpoint and exporter != "none" and not is_off


def open_sink(service: str, environ: Mapping[str, str]) -> CountingSink | None:
    """Return where spans go; ``None`` when nobody wants them.

    Args:
        service: What the program is called where the environment does not name it.
        environ: The process's environment, which the exporter reads by itself as well.

    Raises:
        InvalidInputError: when a variable of OpenTelemetry's holds what it may not.
    """
    if not is_wanted(environ):
        return None
    check_settings(environ)
    # OpenTelemetry and gRPC cost a quarter of a second and 25 MB, which nobody pays who sends no traces.
    from privatellm.telemetry.otlp import OtlpSpans  # noqa: PLC0415

    return OtlpSpans.of_environment(service, environ)


@contextmanager
def spans_of(service: str, environ: Mapping[str, str]) -> Iterator[CountingSink | None]:
    """Open where a program's spans go, as :func:`open_sink` does; send what waits at the program's end."""
    sink = open_sink(service, environ)
    try:
        yield sink
    finally:
        if sink is not None:
            sink.close()


def parse_traceparent(value: bytes) -> TraceIdentity | None:
    """Return the span that a W3C ``traceparent`` header names; ``None`` when it names none."""
    match = _TRACEPARENT.fullmatch(value)
    if match is None:
        return None
    trace_id, span_id = int(match[1], 16), int(match[2], 16)
    if not trace_id or not span_id:
        return None
    return TraceIdentity(trace_id, span_id, bool(int(match[3], 16) & _SAMPLED))
