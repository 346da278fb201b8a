"""One trace from an order to Ready: a real API server, the operator's process, a real collector."""

import asyncio
import base64
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from customer import ask_for_key
from eventually import eventually
from operator_passes import order
from operator_process import RunningOperator, environment, running
from privatellm.api.meta import parse_time
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import verifier_name
from privatellm.telemetry.tracing import TraceIdentity
from privatellm_operator.render.fetcher import FETCHER
from privatellm_operator.world.watched import CHILDREN
from telemetry_collector import COLLECTORS, Collector, attributes_of

pytestmark = pytest.mark.integration

REPLICAS = 2
"""With two servers an instance has a child of every kind."""

WEIGHTS = b"GGUF and nothing more"


@pytest.fixture(params=COLLECTORS, ids=lambda protocol: protocol.partition("/")[0])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    """A collector of each protocol."""
    with COLLECTORS[request.param]() as listening:
        yield listening


@dataclass(frozen=True, slots=True)
class Cluster:
    """What controllers and a node would do for the instance ``chat``."""

    client: KubeClient
    namespace: str
    last_words: str

    async def deployment(self) -> Manifest:
        """Return the Deployment, once it is there."""

        async def created() -> Manifest | None:
            return await self.client.get(kinds.DEPLOYMENT, "chat-llama", self.namespace)

        found = await eventually(created, within=60, what="the Deployment")
        assert found is not None
        return found

    async def run_a_pod(self) -> None:
        """Create a pod of the Deployment, and report that it fetched its weights and serves."""
        template = (await self.deployment())["spec"]["template"]
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        account["metadata"] |= {"namespace": self.namespace}
        await self.client.create(kinds.SERVICE_ACCOUNT, account)
        metadata = template["metadata"] | {"name": "chat-llama-1", "namespace": self.namespace}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        created = await self.client.create(kinds.POD, pod)
        status = _served(created["metadata"]["creationTimestamp"], self.last_words)
        await self.client.patch(
            kinds.POD, "chat-llama-1", self.namespace, {"status": status}, subresource="status"
        )

    async def report_ready(self) -> None:
        """Say of the Deployment that all its servers answer."""
        counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
        status = dict.fromkeys(counts, REPLICAS) | {"observedGeneration": 1}
        await self.client.patch(
            kinds.DEPLOYMENT, "chat-llama", self.namespace, {"status": status}, subresource="status"
        )

    async def ready_instance(self) -> Manifest:
        """Return the instance when it is Ready."""

        async def reached() -> Manifest | None:
            found = await self.client.get(kinds.LLM_INSTANCE, "chat", self.namespace)
            return found if (found or {}).get("status", {}).get("phase") == "Ready" else None

        found = await eventually(reached, within=60, what="a Ready instance")
        assert found is not None
        return found


def _served(created: str, last_words: str) -> dict[str, Any]:
    """Return the status of a pod whose life took one second for each step."""
    began = parse_time(created)
    assert began is not None
    times = [f"{began + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}" for n in range(5)]
    terminated = {"exitCode": 0, "startedAt": times[1], "finishedAt": times[2]}
    about = {"image": "x", "imageID": "x", "ready": True, "restartCount": 0}
    return {
        "phase": "Running",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": times[1]},
            {"type": "Ready", "status": "True", "lastTransitionTime": times[4]},
        ],
        "initContainerStatuses": [
            about | {"name": FETCHER, "state": {"terminated": terminated | {"message": last_words}}}
        ],
        "containerStatuses": [
            about | {"name": "llama-server", "state": {"running": {"startedAt": times[3]}}}
        ],
    }


@pytest.fixture
async def last_words(tmp_path: Path) -> str:
    """What the real fetcher leaves as its container's termination message."""
    source, report = tmp_path / "weights.gguf", tmp_path / "termination-log"
    source.write_bytes(WEIGHTS)
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("privatellm-fetch")),
        *("--output", str(tmp_path / "fetched.gguf"), "--report", str(report)),
        *("--url", source.as_uri(), "--allow-file-sources"),
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    return report.read_text()


@pytest.fixture
def cluster(client: KubeClient, tenant: str, last_words: str) -> Cluster:
    """Everybody but the operator."""
    return Cluster(client, tenant, last_words)


@pytest.fixture
def variables(
    bare_kubeconfig: Path, tmp_path: Path, tenant: str, system: str, collector: Collector
) -> dict[str, str]:
    """The environment of an operator that sends its traces."""
    return environment(
        bare_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=system,
        PRIVATE_LLM_NAMESPACES=tenant,
        **collector.environment,
    )


async def _until_fetched(operator: RunningOperator) -> None:
    """Wait until the operator has seen the pod, whose news and the Deployment's come in any order."""

    async def counted() -> bool:
        return await operator.metric('private_llm_fetches_total{result="fetched"}') == 1

    await eventually(counted, within=60, what="the fetch of the pod")


async def _until_sent(operator: RunningOperator) -> None:
    """Wait until the operator has counted spans that the collector took."""

    async def counted() -> bool:
        return await operator.metric('private_llm_spans_total{result="sent"}') > 0

    await eventually(counted, within=60, what="spans that were sent")
    for lost in ("failed", "dropped"):
        assert await operator.metric(f'private_llm_spans_total{{result="{lost}"}}') == 0


async def test_an_order_is_one_trace_from_its_creation_to_ready(
    variables: dict[str, str], tmp_path: Path, cluster: Cluster, collector: Collector
) -> None:
    """With each write of its passes, what its pod waited for, and the same id in the log."""
    log = tmp_path / "operator.log"
    async with running(variables, log) as operator:
        await operator.until("leading")
        await cluster.client.create(kinds.LLM_INSTANCE, order(cluster.namespace, replicas=REPLICAS))
        await cluster.run_a_pod()
        await _until_fetched(operator)
        await cluster.report_ready()
        instance = await cluster.ready_instance()
        who = f'llm_instance="chat",llm_namespace="{cluster.namespace}"'
        shown = f"private_llm_instance_ready_replicas{{{who}}}"
        assert await operator.metric(shown) == REPLICAS
        assert await operator.metric("private_llm_time_to_ready_seconds_count") == 1
        assert await operator.metric("private_llm_fetch_bytes_total") == len(WEIGHTS)
        await _until_sent(operator)
        assert await operator.stop() == 0

    identity = TraceIdentity.of("order", instance["metadata"]["uid"], 1)
    spans = [s for s in collector.spans if s.trace_id.hex() == identity.trace_hex]
    [first] = [span for span in spans if span.name == "order LLMInstance"]
    passes = [span for span in spans if span.name == "pass LLMInstance"]
    assert first.span_id.hex() == identity.span_hex
    assert {span.parent_span_id for span in passes} == {first.span_id}
    assert max(span.end_time_unix_nano for span in passes) >= first.start_time_unix_nano
    assert attributes_of(first)["private_llm.object.name"] == "chat"
    assert identity.trace_hex in log.read_text()
    assert collector.services == {"private-llm-operator"}
    _assert_every_write(_below(spans, passes))
    _assert_waits(_below(spans, [first]))


def _below(spans: list[Span], parents: list[Span]) -> dict[str, Span]:
    ids = {span.span_id for span in parents}
    return {span.name: span for span in spans if span.parent_span_id in ids}


def _assert_every_write(steps: dict[str, Span]) -> None:
    """Check that a child of each kind, the finalizer and the status were written."""
    children = {f"apply {watching.kind.plural}" for watching in CHILDREN}
    own = {"gather", "decide", "patch llminstances", "apply llminstances/status"}
    assert children | own <= set(steps)


def _assert_waits(waits: dict[str, Span]) -> None:
    """Check that the pod's waits follow each other, with what the fetcher said."""
    schedule, fetch, load = waits["schedule"], waits["fetch"], waits["load"]
    assert attributes_of(fetch)["private_llm.fetch.result"] == "fetched"
    assert attributes_of(fetch)["private_llm.fetch.bytes"] == len(WEIGHTS)
    assert {attributes_of(s)["k8s.pod.name"] for s in (schedule, fetch, load)} == {"chat-llama-1"}
    ends = [schedule.end_time_unix_nano, fetch.end_time_unix_nano, load.end_time_unix_nano]
    assert ends == sorted(ends)
    assert fetch.start_time_unix_nano >= schedule.end_time_unix_nano
    assert load.start_time_unix_nano >= fetch.end_time_unix_nano


async def test_no_secret_is_in_any_span_of_an_order(
    variables: dict[str, str], tmp_path: Path, cluster: Cluster, collector: Collector, system: str
) -> None:
    """Neither a key, its secret part or its hash, nor what model servers are asked with."""
    client, namespace = cluster.client, cluster.namespace
    async with running(variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        instance = await client.create(kinds.LLM_INSTANCE, order(namespace))
        key = (await ask_for_key(client, namespace, "key", "chat")).api_key
        assert await operator.stop() == 0

    request = await client.get(kinds.API_TOKEN_REQUEST, "key", namespace)
    assert request is not None
    identity = TraceIdentity.of("order", request["metadata"]["uid"], 1)
    spans = [span for span in collector.spans if span.trace_id.hex() == identity.trace_hex]
    assert {"order APITokenRequest", "create secrets"} <= {span.name for span in spans}

    _, key_id, secret = key.split("_")
    verifier = await client.get(kinds.SECRET, verifier_name(key_id), system)
    assert verifier is not None
    stored = verifier["data"]["hash"]
    platform_key = (tmp_path / "platform-key").read_text()
    backend_key = PlatformKey.of(platform_key).backend_key(instance["metadata"]["uid"])
    sent = b"".join(sent.SerializeToString() for sent in collector.requests)
    assert key_id.encode() in sent
    for hidden in (
        *(key, secret, secret[:43], stored, platform_key, backend_key),
        base64.b64decode(stored).decode(),
    ):
        assert hidden.encode() not in sent
