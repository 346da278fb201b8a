"""One trace from the edge to the decision: real Traefik, the check's own processes, a collector of both."""

import asyncio
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families

from auth_api_server import ApiServer, api_server
from auth_service import Service, environment_for, running
from auth_world import CHAT, Key, make_key, question_for
from bare_servers import free_port
from eventually import eventually
from privatellm_local.packaging.dashboards.queries import TRAEFIK
from telemetry_collector import COLLECTORS, Collector, attributes_of
from telemetry_parts import samples

SOON = 30.0
START_SECONDS = 60.0
LATER_MS = 600_000
"""A batch of spans that waits so long is sent by nobody but whoever ends."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Edge:
    """Traefik in front of the check, both of which send their spans to one collector.

    Attributes:
        collector: Where spans go.
        api: The API server from which the check knows keys.
        port: Where Traefik answers clients.
        metrics_port: Where it shows its metrics.
    """

    collector: Collector
    api: ApiServer
    port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)

    async def key(self) -> Key:
        """Mint a key and wait until the check knows it."""
        key = make_key()
        await self.api.change("ADDED", key.secret)

        async def known() -> bool:
            return await self.ask(key) != httpx.codes.UNAUTHORIZED

        await eventually(known, within=SOON, what="a key that opens")
        return key

    def check(self, directory: Path) -> dict[str, str]:
        """Return the environment of the check, which has keys for this edge's clients."""
        kubeconfig = self.api.write_kubeconfig(directory / "kubeconfig")
        variables = environment_for(kubeconfig, directory) | self.collector.environment
        return variables | {"PUBLIC_HOST": f"127.0.0.1:{self.port}"}

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

    def configuration(self, check: Service, directory: Path) -> Path:
        """Write Traefik's files."""
        auth = {
            "address": f"{check.verify}/auth/verify",
            "authResponseHeaders": ["Authorization", "X-Private-Llm-Key-Id"],
        }
        backend = {"url": f"http://127.0.0.1:{self.metrics_port}"}
        dynamic: dict[str, Any] = {
            "http": {
                "routers": {
                    "llm": {
                        "entryPoints": ["web"],
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
            "tracing": {"otlp": self.exporter()},
        }
        (directory / "dynamic.yml").write_text(json.dumps(dynamic))
        (directory / "static.yml").write_text(json.dumps(static))
        return directory / "static.yml"

    def exporter(self) -> dict[str, Any]:
        """Return what tells Traefik where spans go."""
        if self.collector.protocol == "grpc":
            address = self.collector.endpoint.removeprefix("http://")
            return {"grpc": {"endpoint": address, "insecure": True}}
        return {"http": {"endpoint": f"{self.collector.endpoint}/v1/traces"}}


async def start_traefik(edge: Edge, check: Service, directory: Path) -> Process:
    """Start Traefik and wait until it routes."""
    program = shutil.which("traefik", path=str(Path(sys.executable).parent))
    assert program, "Traefik comes with the extra 'local': run 'make install'."
    config = edge.configuration(check, directory)
    environment = os.environ | edge.collector.environment
    with (directory / "traefik.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, f"--configFile={config}", stdout=log, stderr=log, env=environment
        )

    async def routed() -> bool:
        try:
            return await edge.ask(make_key()) == httpx.codes.UNAUTHORIZED
        except httpx.TransportError:
            return False

    await eventually(routed, within=SOON, what="Traefik's route")
    return process


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=COLLECTORS)
async def edge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Edge]:
    """Traefik, the check as it is deployed, and a collector of each protocol."""
    directory = tmp_path_factory.mktemp("edge")
    async with AsyncExitStack() as stack:
        collector = stack.enter_context(COLLECTORS[request.param]())
        edge = Edge(collector, await stack.enter_async_context(api_server()))
        check = await stack.enter_async_context(
            running(edge.check(directory), directory / "log", within=START_SECONDS)
        )
        traefik = await start_traefik(edge, check, directory)
        try:
            yield edge
        finally:
            traefik.terminate()
            await traefik.wait()


def traceparent(trace_id: str, flags: str = "01") -> str:
    """Return a W3C header."""
    return f"00-{trace_id}-{'b' * 16}-{flags}"


async def test_the_decision_is_a_span_of_the_edges_trace(edge: Edge) -> None:
    """The client's trace goes on at Traefik, and Traefik's at the check, which is below its question."""
    trace, key = "1" * 32, await edge.key()

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

    await edge.ask(await edge.key(), traceparent=traceparent(dropped, "00"))
    await edge.ask(await edge.key(), traceparent=traceparent(kept))

    await edge.span("verify", kept)
    assert not any(span.trace_id.hex() == dropped for span in edge.collector.spans)


async def test_no_secret_is_in_any_span_of_the_check(edge: Edge) -> None:
    """Nor in what goes with it."""
    trace, key = "5" * 32, await edge.key()
    await edge.ask(key, traceparent=traceparent(trace))
    await edge.span("verify", trace)

    ours = [
        request.SerializeToString()
        for request in edge.collector.requests
        if b"private-llm-authserver" in request.SerializeToString()
    ]

    assert ours
    assert not any(key.token.secret.encode() in sent for sent in ours)


async def test_the_check_counts_the_spans_that_the_collector_took(
    edge: Edge, tmp_path: Path
) -> None:
    """On the admin port, of all workers together."""
    header = (b"traceparent", traceparent("7" * 32).encode())
    async with (
        running(edge.check(tmp_path), tmp_path / "log", within=START_SECONDS) as check,
        httpx.AsyncClient() as http,
    ):

        async def shown() -> dict[str, float]:
            text = (await check.get("/metrics")).content
            found = (s for s in samples(text) if s.name == "private_llm_auth_spans_total")
            return {sample.labels["result"]: sample.value for sample in found}

        async def counted() -> bool:
            return (await shown())["sent"] == 1

        assert await shown() == {"sent": 0, "failed": 0, "dropped": 0}
        await http.get(f"{check.verify}/auth/verify", headers=[*question_for(make_key()), header])
        await eventually(counted, within=SOON, what="the span of a decision")
        assert await shown() == {"sent": 1, "failed": 0, "dropped": 0}


async def test_the_last_request_before_the_end_has_its_span(edge: Edge, tmp_path: Path) -> None:
    """What waits for its batch is sent when the check is told to stop."""
    trace = "6" * 32
    variables = edge.check(tmp_path) | {
        "OTEL_BSP_SCHEDULE_DELAY": str(LATER_MS),
        "PRIVATE_LLM_DRAIN_SECONDS": "0",
    }
    async with running(variables, tmp_path / "log", within=START_SECONDS) as check:
        await _ask(check, trace)
        check.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(check.process.wait(), SOON)

    assert code == 0
    assert attributes_of(await edge.span("verify", trace)) == {
        "private_llm.decision": "invalid_api_key"
    }


async def test_the_successor_of_a_dead_worker_goes_on_with_traces(
    edge: Edge, tmp_path: Path
) -> None:
    """The supervisor, which sends spans, starts processes; the exporter's threads say nothing to that."""
    variables = edge.check(tmp_path) | {"PRIVATE_LLM_WORKERS": "1"}
    async with running(variables, tmp_path / "log", within=START_SECONDS) as check:
        await _ask(check, "7" * 32)
        await edge.span("verify", "7" * 32)
        os.kill(check.workers()[0], signal.SIGKILL)
        await eventually(_restarted(check), within=SOON, what="the end of the worker")
        await check.until_ready()
        await _ask(check, "8" * 32)
        await edge.span("verify", "8" * 32)

    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {line["event"] for line in lines if line["level"] in {"warning", "error"}} == {
        "request denied",
        "worker ended",
    }


async def _ask(check: Service, trace: str) -> None:
    """Ask the check itself, as an edge that keeps the trace."""
    asked = [*question_for(make_key()), (b"traceparent", traceparent(trace).encode())]
    async with httpx.AsyncClient() as http:
        await http.get(f"{check.verify}/auth/verify", headers=asked)


def _restarted(check: Service) -> Any:
    async def restarted() -> bool:
        return 'worker_restarts_total{worker="0"} 1.0' in (await check.get("/metrics")).text

    return restarted


async def test_traefik_exposes_what_the_dashboards_draw(edge: Edge) -> None:
    """By the names of the version that we ship."""
    await edge.ask(await edge.key())
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"http://127.0.0.1:{edge.metrics_port}/metrics")

    exposed = {
        sample.name
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }

    assert set(TRAEFIK) <= exposed
