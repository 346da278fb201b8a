"""The sync agent's chart on a real cluster, with a kcp: it publishes, syncs and stands by."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chart_helm import REPOSITORY, Helm, of_kind
from chart_release import Release, kubectl
from customer import chat, instance, token_request, until_routed
from eventually import eventually
from kcp_clusters import running
from kcp_orders import Provider, key_in, local_namespace, provider
from kcp_world import PROVIDER
from privatellm.kube import KubeClient, kinds
from privatellm_local.packaging.sync_agent_values import SYNC_AGENT
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(900)]

CHART = REPOSITORY / SYNC_AGENT.directory
EXPORT = "llm.privatellms.msp"
NAMESPACE = "private-llm-sync"
NAME = "private-llm-sync-agent"
COLD_START_SECONDS = 180.0


@pytest.fixture(scope="module")
def behind_kcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of the API server behind the double."""
    with running(tmp_path_factory.mktemp("kcp"), "kcp") as (kubeconfig,):
        yield kubeconfig


@pytest.fixture
async def home(behind_kcp: Path, client: KubeClient) -> AsyncIterator[Provider]:
    """A provider's workspace, whose kubeconfig a platform team put into the agent's namespace."""
    async with provider(behind_kcp, EXPORT) as made:
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kcp", "cluster": {"server": made.agent.server}}],
            "users": [{"name": "agent", "user": {"token": PROVIDER}}],
            "contexts": [{"name": "kcp", "context": {"cluster": "kcp", "user": "agent"}}],
            "current-context": "kcp",
        }
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.apply(kinds.NAMESPACE, namespace, field_manager="tests")
        data = {"kubeconfig": base64.b64encode(json.dumps(kubeconfig).encode()).decode()}
        metadata = {"name": "private-llm-kcp", "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await client.apply(kinds.SECRET, secret, field_manager="tests")
        yield made


@pytest.fixture
async def agent(home: Provider, release: Release) -> AsyncIterator[Release]:
    """A release of the agent's chart that a test may install; two pods, one of which leads."""
    values = {
        "bindHost": "$(POD_IP)",
        "agent": {"replicas": 2},
        "onboarding": {"operatorNamespace": release.namespace},
    }
    made = Release(release.helm, values, name="sync", namespace=NAMESPACE)
    await made.uninstall()
    yield made
    await made.uninstall()


async def test_a_customer_of_kcp_is_served_by_the_two_charts(
    installed: Release, agent: Release, home: Provider, client: KubeClient
) -> None:
    """Operator and agent run from their charts; a workspace orders and gets a key that works."""
    await agent.install(CHART)

    for published in await _published(client):
        (condition,) = published["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Accepted", "True")
    lease = await client.get(kinds.LEASE, "syncagent.private-llm", NAMESPACE)
    assert lease is not None
    deployment = await client.get(kinds.DEPLOYMENT, NAME, NAMESPACE)
    assert deployment is not None
    assert deployment["status"]["availableReplicas"] == 2

    workspace = await home.customer()
    namespace = local_namespace(workspace)
    await workspace.client.create(kinds.LLM_INSTANCE, instance("default", "chat"))
    request = token_request("default", "key", "chat")
    await workspace.client.create(kinds.API_TOKEN_REQUEST, request)
    got = await key_in(workspace, "key", COLD_START_SECONDS)
    async with httpx.AsyncClient() as http:
        await until_routed(http, got)
        answer = await chat(http, got)
    assert answer.status_code == 200, answer.text

    await workspace.client.delete(kinds.API_TOKEN_REQUEST, "key", "default")
    await workspace.client.delete(kinds.LLM_INSTANCE, "chat", "default")

    async def ended() -> bool:
        below = await client.list(kinds.LLM_INSTANCE, namespace)
        return not below.items

    await eventually(ended, what="the end of the instance", within=60)


async def test_an_uninstall_leaves_what_is_published_and_an_upgrade_repairs_it(
    agent: Release, client: KubeClient, installed: Release
) -> None:
    """Customers' objects hang on it; what somebody changed by hand is as the chart says again."""
    await agent.install(CHART)
    before = await _published(client)
    changed = {"spec": {"naming": {"name": "changed"}}}
    await client.patch(PUBLISHED_RESOURCE, before[0]["metadata"]["name"], None, changed)

    await agent.upgrade(CHART)
    await agent.uninstall()

    assert [one["metadata"]["uid"] for one in await _published(client)] == [
        one["metadata"]["uid"] for one in before
    ]
    await agent.install(CHART)

    async def repaired() -> bool:
        found = await _published(client)
        return [one["spec"] for one in found] == [one["spec"] for one in before]

    await eventually(repaired, what="the chart's own naming", within=90)


async def _published(client: KubeClient) -> list[dict[str, Any]]:
    async def judged() -> list[dict[str, Any]]:
        found = sorted(
            (await client.list(PUBLISHED_RESOURCE)).items, key=lambda one: one["metadata"]["name"]
        )
        return found if len(found) == 2 and all(one.get("status") for one in found) else []

    return await eventually(judged, what="two PublishedResources that were judged", within=60)


EVERYTHING: dict[str, Any] = {
    "imagePullSecrets": [{"name": "pull"}],
    "serviceCluster": {"kubeconfigSecret": {"name": "service"}, "caOverride": {"name": "ca"}},
    "publishedResources": {"further": {"things": {"resource": {"apiGroup": "a", "kind": "B"}}}},
    "agent": {
        "replicas": 2,
        "podAnnotations": {"note": "yes"},
        "podLabels": {"team": "platform"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["kcp.example"]}],
        "extraEnv": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    },
    "extraCA": {"configMapName": "bundle"},
}


@pytest.mark.parametrize(
    "values",
    [{}, EVERYTHING, {"leaderElection": False}, {"metrics": {"enabled": False}}],
    ids=["defaults", "everything", "alone", "unmeasured"],
)
async def test_the_api_server_accepts_every_object(
    release: Release, kubeconfig: Path, client: KubeClient, values: dict[str, Any]
) -> None:
    """To the last field, in a namespace that warns of everything that is not restricted."""
    label = {"pod-security.kubernetes.io/warn": "restricted"}
    metadata = {"name": "dry-run-agent", "labels": label}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    await client.apply(kinds.NAMESPACE, manifest, field_manager="tests")
    objects = _rendered(release.helm, values)

    answer = await kubectl(
        kubeconfig,
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        *("--force-conflicts", "--field-manager=dry-run"),
        objects=objects,
    )

    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert len(answer.stdout.splitlines()) == len(objects)


def _rendered(helm: Helm, values: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    objects = helm.template(values, chart=CHART, namespace="dry-run-agent")
    assert of_kind(objects, "Deployment")
    return objects
