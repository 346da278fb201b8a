"""The trace of an order that is really carried out: a real node, a real fetch and a real model server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

import leaks
from cache_world import demo_weights, platform_settings
from customer import ask_for_key, order
from embedded import Environment
from eventually import eventually
from privatellm.kube import KubeClient
from privatellm.telemetry.tracing import TraceIdentity
from privatellm_operator.render.children import BUILDERS
from telemetry_collector import Collector, attributes_of, grpc_collector

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(300)]

SOON = 30.0
SECOND = 10**9
"""Nanoseconds to which Kubernetes tells when something was."""


@pytest.fixture(scope="module")
def collector(kubeconfig: Path) -> Iterator[Collector]:
    """A collector, and a platform that sends to it."""
    with (
        grpc_collector() as listening,
        platform_settings(kubeconfig, **listening.environment),
    ):
        yield listening


async def _trace(collector: Collector, uid: str) -> list[Span]:
    """Return the spans of an order once its first one, which is written last, has arrived."""
    identity = TraceIdentity.of("order", uid, 1)

    async def whole() -> list[Span] | None:
        spans = [span for span in collector.spans if span.trace_id.hex() == identity.trace_hex]
        return spans if identity.span_hex in {span.span_id.hex() for span in spans} else None

    spans = await eventually(whole, within=SOON, what="the first span of the order")
    assert spans is not None
    return spans


async def test_a_real_order_tells_what_it_waited_for(
    client: KubeClient, namespace: str, collector: Collector, environment: Environment
) -> None:
    """A node, the weights and the load, one after the other within the order, and no secret."""
    instance = await order(client, namespace, "chat")
    await ask_for_key(client, namespace, "key", "chat")

    spans = await _trace(collector, instance["metadata"]["uid"])
    named = {span.name: span for span in spans}
    [first] = [span for span in spans if span.name == "order LLMInstance"]
    waits = [named[name] for name in ("schedule", "fetch", "load")]
    assert {span.parent_span_id for span in waits} == {first.span_id}
    starts = [span.start_time_unix_nano for span in waits]
    ends = [span.end_time_unix_nano for span in waits]
    assert [starts, ends] == [sorted(starts), sorted(ends)]
    assert first.start_time_unix_nano <= starts[0]
    assert ends[-1] <= first.end_time_unix_nano + SECOND
    fetch = attributes_of(named["fetch"])
    assert fetch["private_llm.fetch.result"] == "fetched"
    assert fetch["private_llm.fetch.bytes"] == (await demo_weights(client)).stat().st_size
    assert len([name for name in named if name.startswith("apply ")]) > len(BUILDERS)
    sent = b"".join(request.SerializeToString() for request in collector.requests)
    issued = leaks.issued_secrets(environment)
    assert issued
    assert leaks.leaks_in([("the traces", sent)], issued) == []
