"""One trace from the edge to the decision: real Traefik, the real check, and a real collector of both."""

import asyncio
import json
import os
import shutil
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families

from auth_world import CHAT, Key, World, make_key
from bare_servers import free_port
from eventually import eventually
from privatellm.telemetry.tracing import SpanSink, open_sink
from privatellm_authserver import clocks
from privatellm_authserver.metrics import Meter
from privatellm_authserver.serving import listen, make_server
from privatellm_authserver.settings import Settings
from privatellm_authserver.worker import build_app
from privatellm_local.packaging.dashboards.queries import TRAEFIK
from telemetry_collector import Collector, attributes_of, grpc_collector

SOON = 30.0
pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Edge:
    """Traefik in front of the check, both of which send their spans to one collector."""

    collector: Collector
    port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    auth_port: int = 0
    world: World = field(default_factory=World)

    def key(self) -> Key:
        """Mint a key that is valid now."""
        key = make_key()
        self.world.index.put(key.secret, clocks.uptime())
        return key

    async def ask(self, key: Key, **headers: str) -> int:
        """Ask a model something that is not there, and return the status."""
        sent = {"Authorization": f"Bearer {key.token.reveal()}"} | headers
        async with httpx.AsyncClient() as http:
            answer = await http.post(
                f"http://127.0.0.1:{self.port}/llm/{key.slug}{CHAT}", headers=sent
            )
        return answer.status_code

    async def span(self, name: str, trace_id: str) -> Span:
        """Return a span of a trace, once it has arrived."""

        def found() -> list[Span]:
            spans = self.collector.spans
            return [s for s in spans if s.name == name and s.trace_id.hex() == trace_id]

        async def arrived() -> bool:
            return bool(found())

        await eventually(arrived, within=SOON, what=f"the span {name}")
        return found()[0]

    def configuration(self, directory: Path) -> Path:
        """Write Traefik's files."""
        auth = {
            "address": f"http://127.0.0.1:{self.auth_port}/auth/verify",
            "authResponseHeaders": ["Authorization", "X-Private-Llm-Key-Id"],
        }
        backend = {"url": f"http://127.0.0.1:{self.metrics_port}"}
        dynamic: dict[str, Any] = {
            "http": {
                "routers": {
                    "llm": {
                        "rule": "PathPrefix(`/llm/`)",
                        "service": "llm",
                        "middlewares": ["auth"],
                    }
                },
                "middlewares": {"auth": {"forwardAuth": auth}},
                "services": {"llm": {"loadBalancer": {"servers": [backend]}}},
            }
        }
        static = {
            "entryPoints": {
                "web": {"address": f"127.0.0.1:{self.port}"},
                "metrics": {"address": f"127.0.0.1:{self.metrics_port}"},
            },
            "providers": {"file": {"filename": str(directory / "dynamic.yml")}},
            "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
            "metrics": {"prometheus": {"entryPoint": "metrics"}},
            "tracing": {
                "otlp": {
                    "grpc": {
                        "endpoint": self.collector.endpoint.removeprefix("http://"),
                        "insecure": True,
                    }
                }
            },
        }
        (directory / "dynamic.yml").write_text(json.dumps(dynamic))
        (directory / "static.yml").write_text(json.dumps(static))
        return directory / "static.yml"


async def start_traefik(edge: Edge, directory: Path) -> Process:
    """Start Traefik and wait until it routes."""
    program = shutil.which("traefik", path=str(Path(sys.executable).parent))
    assert program, "Traefik comes with the extra 'local': run 'make install'."
    config = edge.configuration(directory)
    with (directory / "traefik.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, f"--configFile={config}", stdout=log, stderr=log
        )

    async def routed() -> bool:
        try:
            return await edge.ask(make_key()) == httpx.codes.UNAUTHORIZED
        except httpx.TransportError:
            return False

    await eventually(routed, within=SOON, what="Traefik's route")
    return process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def edge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Edge]:
    """Traefik, the check as a worker runs it, and a collector."""
    with grpc_collector() as collector:
        edge = Edge(collector)
        edge.world.index.confirm(clocks.uptime())
        spans = sink_of(collector)
        settings = Settings(
            public_host=f"127.0.0.1:{edge.port}", platform_key_file=Path("/not/read/here")
        )
        server = make_server(build_app(settings, edge.world.index, Meter(), spans))
        listener = listen("127.0.0.1", 0)
        edge.auth_port = listener.getsockname()[1]
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        traefik = await start_traefik(edge, tmp_path_factory.mktemp("traefik"))
        try:
            yield edge
        finally:
            traefik.terminate()
            await traefik.wait()
            server.should_exit = True
            await serving
            spans.close()


def sink_of(collector: Collector) -> SpanSink:
    """Return a sink that sends to a collector, as a worker opens it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in collector.environment.items():
            patch.setenv(name, value)
        sink = open_sink("private-llm-authserver", os.environ)
    assert sink is not None
    return sink


def traceparent(trace_id: str, flags: str = "01") -> str:
    """Return a W3C header."""
    return f"00-{trace_id}-{'b' * 16}-{flags}"


async def test_the_decision_is_a_span_of_the_edges_trace(edge: Edge) -> None:
    """The client's trace goes on at Traefik, and Traefik's at the check, which is below its question."""
    trace, key = "1" * 32, edge.key()

    await edge.ask(key, traceparent=traceparent(trace))

    decision = await edge.span("verify", trace)
    await eventually(_arrives(edge, decision.parent_span_id), within=SOON, what="Traefik's span")
    (question,) = [s for s in edge.collector.spans if s.span_id == decision.parent_span_id]
    assert decision.kind == Span.SPAN_KIND_SERVER
    assert question.start_time_unix_nano <= decision.start_time_unix_nano
    assert attributes_of(decision) == {
        "private_llm.decision": "allowed",
        "private_llm.key_id": key.token.key_id,
        "private_llm.instance.slug": key.slug,
        "k8s.namespace.name": "acme",
    }
    assert {"traefik", "private-llm-authserver"} <= edge.collector.services


def _arrives(edge: Edge, span_id: bytes) -> Any:
    async def arrived() -> bool:
        return any(span.span_id == span_id for span in edge.collector.spans)

    return arrived


async def test_a_denial_tells_its_reason_and_nothing_of_who_asked(edge: Edge) -> None:
    """What a stranger claims is not repeated."""
    trace, stranger = "2" * 32, make_key()

    assert await edge.ask(stranger, traceparent=traceparent(trace)) == httpx.codes.UNAUTHORIZED

    decision = await edge.span("verify", trace)
    assert attributes_of(decision) == {"private_llm.decision": "invalid_api_key"}


async def test_a_trace_that_is_not_kept_gets_no_span(edge: Edge) -> None:
    """The client said so, the edge agreed, and we say nothing."""
    dropped, kept = "3" * 32, "4" * 32

    await edge.ask(edge.key(), traceparent=traceparent(dropped, "00"))
    await edge.ask(edge.key(), traceparent=traceparent(kept))

    await edge.span("verify", kept)
    assert not any(span.trace_id.hex() == dropped for span in edge.collector.spans)


async def test_no_secret_is_in_any_span_of_the_check(edge: Edge) -> None:
    """Nor in what goes with it."""
    trace, key = "5" * 32, edge.key()
    await edge.ask(key, traceparent=traceparent(trace))
    await edge.span("verify", trace)

    ours = [
        request.SerializeToString()
        for request in edge.collector.requests
        if b"private-llm-authserver" in request.SerializeToString()
    ]

    assert ours
    assert not any(key.token.secret.encode() in sent for sent in ours)


async def test_traefik_exposes_what_the_dashboards_draw(edge: Edge) -> None:
    """By the names of the version that we ship."""
    await edge.ask(edge.key())
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"http://127.0.0.1:{edge.metrics_port}/metrics")

    exposed = {
        sample.name
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }

    assert set(TRAEFIK) <= exposed
