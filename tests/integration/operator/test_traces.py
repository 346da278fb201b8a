"""One trace from an order to Ready: a real API server, the operator's process, a real collector."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from eventually import eventually
from operator_passes import order
from operator_process import environment, running
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.telemetry.tracing import TraceIdentity
from telemetry_collector import COLLECTORS, Collector, attributes_of

pytestmark = pytest.mark.integration


@pytest.fixture(params=COLLECTORS, ids=lambda protocol: protocol.partition("/")[0])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    """A collector of each protocol."""
    with COLLECTORS[request.param]() as listening:
        yield listening


async def _play_the_cluster(client: KubeClient, namespace: str) -> None:
    """Report that the servers of the Deployment answer, as its controller would."""

    async def created() -> bool:
        return await client.get(kinds.DEPLOYMENT, "chat-llama", namespace) is not None

    await eventually(created, within=60, what="the Deployment")
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    status = dict.fromkeys(counts, 1) | {"observedGeneration": 1}
    await client.patch(
        kinds.DEPLOYMENT, "chat-llama", namespace, {"status": status}, subresource="status"
    )


async def _ready(client: KubeClient, namespace: str) -> Manifest:
    async def reached() -> bool:
        found = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
        return bool(found and found.get("status", {}).get("phase") == "Ready")

    await eventually(reached, within=60, what="a Ready instance")
    found = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
    assert found is not None
    return found


async def test_an_order_is_one_trace_from_its_creation_to_ready(
    client: KubeClient,
    bare_kubeconfig: Path,
    tmp_path: Path,
    tenant: str,
    system: str,
    collector: Collector,
) -> None:
    """With the passes below it, each write of theirs, and the same id in the log."""
    variables = environment(
        bare_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=system,
        PRIVATE_LLM_NAMESPACES=tenant,
        **collector.environment,
    )
    log = tmp_path / "operator.log"
    async with running(variables, log) as operator:
        await operator.until("leading")
        await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=1))
        await _play_the_cluster(client, tenant)
        instance = await _ready(client, tenant)
        shown = (
            f'private_llm_instance_ready_replicas{{llm_instance="chat",llm_namespace="{tenant}"}}'
        )
        assert await operator.metric(shown) == 1
        assert await operator.metric("private_llm_time_to_ready_seconds_count") == 1
        assert await operator.stop() == 0

    identity = TraceIdentity.of("order", instance["metadata"]["uid"], 1)
    spans = [s for s in collector.spans if s.trace_id.hex() == identity.trace_hex]
    [first] = [span for span in spans if span.name == "order LLMInstance"]
    passes = [span for span in spans if span.name == "pass LLMInstance"]
    assert first.span_id.hex() == identity.span_hex
    assert {span.parent_span_id for span in passes} == {first.span_id}
    assert max(span.end_time_unix_nano for span in passes) >= first.start_time_unix_nano
    assert attributes_of(first)["private_llm.object.name"] == "chat"
    steps = _steps_of(spans, passes)
    assert {"gather", "decide", "apply deployments", "apply llminstances/status"} <= steps
    assert identity.trace_hex in log.read_text()
    assert collector.services == {"private-llm-operator"}


def _steps_of(spans: list[Span], passes: list[Span]) -> set[str]:
    parents = {span.span_id for span in passes}
    return {span.name for span in spans if span.parent_span_id in parents}
