"""One trace from a workspace to Ready: the agent's process, the operator's process, a real collector."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from eventually import eventually
from kcp_clusters import Servers
from kcp_process import agent
from kcp_world import Workspace, World, install
from operator_passes import MODEL, catalogue_entry
from operator_process import environment, running
from privatellm.api import crds
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.telemetry.tracing import order_of
from privatellm_local.edge.definitions import definitions
from privatellm_sync_agent.published import defaults
from telemetry_collector import COLLECTORS, Collector, attributes_of
from telemetry_parts import samples

pytestmark = pytest.mark.deep


@pytest.fixture(params=COLLECTORS, ids=lambda protocol: protocol.partition("/")[0])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    """A collector of each protocol."""
    with COLLECTORS[request.param]() as listening:
        yield listening


@pytest.fixture
async def cluster(world: World) -> AsyncIterator[KubeClient]:
    """The service cluster with our kinds, Traefik's and a model, as the operator needs it."""
    for definition in (*crds.all_crds(), *definitions()):
        await install(world.service, definition)
    await world.service.apply(kinds.LLM_MODEL, catalogue_entry(MODEL), field_manager="tests")
    yield world.service
    for instance in (await world.service.list(kinds.LLM_INSTANCE)).items:
        metadata = instance["metadata"]
        place = (metadata["name"], metadata["namespace"])
        await world.service.patch(kinds.LLM_INSTANCE, *place, {"metadata": {"finalizers": None}})
        await world.service.delete(kinds.LLM_INSTANCE, *place)


async def copy_of(cluster: KubeClient, workspace: Workspace) -> Manifest:
    """Return the copy of the customer's instance, as soon as there is one."""

    async def look() -> Manifest | None:
        labels = f"syncagent.kcp.io/remote-object-cluster={workspace.cluster}"
        found = (await cluster.list(kinds.LLM_INSTANCE, labels=labels)).items
        return found[0] if found else None

    copy = await eventually(look, what="a copy of the instance")
    assert copy is not None
    return copy


async def play_the_cluster(cluster: KubeClient, namespace: str) -> None:
    """Report that the servers of the Deployment answer, as its controller would."""

    async def created() -> bool:
        return await cluster.get(kinds.DEPLOYMENT, "chat-llama", namespace) is not None

    await eventually(created, within=60, what="the Deployment")
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    status = dict.fromkeys(counts, 1) | {"observedGeneration": 1}
    await cluster.patch(
        kinds.DEPLOYMENT, "chat-llama", namespace, {"status": status}, subresource="status"
    )


def assert_is_one_order(spans: list[Span], copy: Manifest, workspace: Workspace) -> None:
    """Check that both programs' passes lie below the order's span, each with its writes below it."""
    [first] = [one for one in spans if one.name == "order LLMInstance"]
    assert first.span_id.hex() == order_of(copy).span_hex
    below = [one for one in spans if one.parent_span_id == first.span_id]
    assert {one.name for one in below} == {"sync", "pass LLMInstance"}
    syncs = {one.span_id: attributes_of(one) for one in below if one.name == "sync"}
    for attributes in syncs.values():
        assert attributes["private_llm.cluster"] == workspace.cluster
        assert attributes["private_llm.object.name"] == "chat"
    writes = {one.name for one in spans if one.parent_span_id in syncs}
    # What made the copy, and what carried its status back.
    assert {"create llminstances", "replace llminstances/status"} <= writes
    # The first order from a workspace is how the agent learns that its namespace is not there yet.
    assert "try to create llminstances" in writes
    created = [one for one in spans if "create " in one.name]
    assert {one.name for one in created if one.status.code == Status.STATUS_CODE_ERROR} == set()


async def test_the_agents_passes_are_in_the_trace_that_the_operator_writes(
    world: World,
    api_servers: Servers,
    agent_namespace: str,
    tmp_path: Path,
    cluster: KubeClient,
    collector: Collector,
) -> None:
    """From the workspace's order to a model server that is Ready, under one id that both compute."""
    spec = defaults.published_resources()[0]["spec"]
    # Under a group of the test's own, because another test's kcp is the same API server.
    ordered = replace(kinds.LLM_INSTANCE, group=world.group)
    await world.publish("instances", **spec, projection={"group": ordered.group})
    variables = environment(
        api_servers.service,
        tmp_path,
        POD_NAMESPACE=agent_namespace,
        PRIVATE_LLM_TOKEN_NAMESPACE=agent_namespace,
        **collector.environment,
    )
    told = collector.environment
    async with (
        running(variables, tmp_path / "operator.log") as operator,
        agent(world, api_servers, tmp_path, variables=told) as process,
    ):
        await operator.until("leading")
        await eventually(process.state, what="a ready agent", within=60)
        await world.published()
        acme = await world.customer()
        order = {"model": MODEL, "replicas": 1}
        await acme.create(ordered, "chat", "default", spec=order)
        copy = await copy_of(cluster, acme)
        await play_the_cluster(cluster, copy["metadata"]["namespace"])

        async def ready() -> bool:
            found = await acme.client.get(ordered, "chat", "default")
            return ((found or {}).get("status") or {}).get("phase") == "Ready"

        async def fulfilled() -> bool:
            return await operator.metric("private_llm_time_to_ready_seconds_count") == 1

        async def sent() -> bool:
            shown = samples(await process.exposition())
            return any(
                s.name == "sync_agent_spans_total" and s.labels["result"] == "sent" and s.value
                for s in shown
            )

        await eventually(ready, what="a Ready instance in the workspace", within=60)
        await eventually(fulfilled, what="an order that the operator has told of")
        await eventually(sent, what="spans of the agent that were sent", within=60)
        process.child.terminate()
        assert await process.child.wait() == 0
        assert await operator.stop() == 0

    spans = [one for one in collector.spans if one.trace_id.hex() == order_of(copy).trace_hex]
    assert_is_one_order(spans, copy, acme)
    assert collector.services == {"private-llm-operator", "private-llm-sync-agent"}
    assert await process.said(order_of(copy).trace_hex)
