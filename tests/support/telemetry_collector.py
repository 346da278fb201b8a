"""A collector of traces: OTLP's own service over gRPC, and its HTTP form, on loopback ports."""

import gzip
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from leaks import leaks_in


@dataclass
class Collector:
    """What arrived.

    Attributes:
        endpoint: Where it listens.
        protocol: What it speaks, as ``OTEL_EXPORTER_OTLP_PROTOCOL`` names it.
        requests: Everything that was exported.
        metadata: Headers of each export.
        demanded: Headers without which an export is refused.
        refused: Headers of each export that was refused.
    """

    endpoint: str
    protocol: str
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    demanded: Mapping[str, str] = field(default_factory=dict)
    refused: list[dict[str, str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program finds it."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": self.protocol,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }

    @property
    def spans(self) -> list[Span]:
        """Every span, in the order of arrival."""
        return [
            span
            for request in tuple(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def services(self) -> set[str]:
        """The names of the services that sent something."""
        return {
            attribute.value.string_value
            for request in tuple(self.requests)
            for resource in request.resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }

    def take(self, request: ExportTraceServiceRequest, metadata: dict[str, str]) -> bool:
        """Take an export in, unless it lacks a header; return whether it was taken."""
        if not self.demanded.items() <= metadata.items():
            self.refused.append(metadata)
            return False
        self.metadata.append(metadata)
        self.requests.append(request)
        return True

    def assert_discreet(self) -> None:
        """Fail when something that arrived holds a token, a hash or a backend key."""
        texts = [("an export", request.SerializeToString()) for request in tuple(self.requests)]
        assert leaks_in(texts, frozenset()) == []


def attributes_of(span: Span) -> dict[str, Any]:
    """Return a span's attributes."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


class _Service(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def Export(  # noqa: N802 - the name in OTLP
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        """Take an export in."""
        if not self._collector.take(request, dict(context.invocation_metadata())):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "a header is missing")
        return ExportTraceServiceResponse()


@contextmanager
def grpc_collector(certificate: Path | None = None) -> Iterator[Collector]:
    """Run OTLP's gRPC service.

    Args:
        certificate: PEM file with key and certificate of ``localhost``; absent: no TLS.
    """
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    if certificate is None:
        collector = Collector(f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", "grpc")
    else:
        pem = certificate.read_bytes()
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(pem, pem)]))
        collector = Collector(f"https://localhost:{port}", "grpc")
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_Service(collector), server)
    server.start()
    try:
        yield collector
        collector.assert_discreet()
    finally:
        server.stop(grace=None).wait()


@contextmanager
def http_collector(certificate: Path | None = None) -> Iterator[Collector]:
    """Run OTLP over HTTP with protobuf bodies.

    Args:
        certificate: PEM file with key and certificate of ``localhost``; absent: no TLS.
    """
    collector = Collector("", "http/protobuf")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = _body_of(self)
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            self.send_response(_status_of(collector, self, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Keep the test's output free of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            collector.endpoint = f"https://localhost:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield collector
            collector.assert_discreet()
        finally:
            server.shutdown()
            thread.join()


def _status_of(collector: Collector, request: BaseHTTPRequestHandler, body: bytes) -> HTTPStatus:
    """Take in what was posted, and return the answer's status."""
    if request.path != "/v1/traces":
        return HTTPStatus.NOT_FOUND
    metadata = {name.lower(): value for name, value in request.headers.items()}
    taken = collector.take(ExportTraceServiceRequest.FromString(body), metadata)
    return HTTPStatus.OK if taken else HTTPStatus.UNAUTHORIZED


def _body_of(request: BaseHTTPRequestHandler) -> bytes:
    """Return a request's body, whose length Python's exporter tells and Go's does not."""
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers["Content-Length"]))
    body = b""
    while size := int(request.rfile.readline(), 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    return body


COLLECTORS = {"grpc": grpc_collector, "http/protobuf": http_collector}
"""A collector for each protocol."""
