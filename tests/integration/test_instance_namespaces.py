"""A namespace that is deleted ends its keys and routes at once, however long its pods take."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from customer import ask_for_key, order, until_routed
from eventually import eventually
from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm.names import slug_of
from privatellm_local.platform.facts import TOKEN_NAMESPACE

pytestmark = pytest.mark.integration

HOLD = "example.com/hold"


@pytest.fixture
async def slow_pod(client: KubeClient, namespace: str) -> AsyncIterator[str]:
    """A pod that does not end until the test is over; Kubernetes waits for it before all else."""
    metadata: dict[str, Any] = {"name": "slow", "namespace": namespace, "finalizers": [HOLD]}
    spec = {
        "containers": [{"name": "slow", "image": "example.com/slow:1"}],
        "nodeSelector": {"example.com/nowhere": "true"},
    }
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await client.create(kinds.POD, manifest)
    yield "slow"
    await client.patch(kinds.POD, "slow", namespace, {"metadata": {"finalizers": None}})


async def test_keys_and_routes_end_while_the_pods_of_their_namespace_still_do(
    client: KubeClient, namespace: str, slow_pod: str, edge_url: str
) -> None:
    """401 and no route, although neither instance nor request was deleted yet."""
    ordered = await order(client, namespace, "chat", phase="Stopped", replicas=0)
    uid = ordered["metadata"]["uid"]
    key = await ask_for_key(client, namespace, "key", "chat")
    async with httpx.AsyncClient() as http:
        await until_routed(http, key)
        answer = await http.get(f"{key.base_url}/models", headers=key.headers)
        assert answer.status_code == 503

        await client.delete(kinds.NAMESPACE, namespace)

        async def ended() -> bool:
            answer = await http.get(f"{key.base_url}/models", headers=key.headers)
            assert answer.status_code in (401, 404)
            selector = f"{labels.INSTANCE_UID}={uid}"
            verifiers = await client.list(kinds.SECRET, TOKEN_NAMESPACE, labels=selector)
            assert verifiers.items == ()
            assert await client.get(kinds.INGRESS, "chat-llama", namespace) is None
            instance = await client.get(kinds.LLM_INSTANCE, "chat", namespace)
            assert instance is not None
            assert "deletionTimestamp" not in instance["metadata"]
            assert instance["status"]["phase"] == "Terminating"
            assert "endpoint" not in instance["status"]
            return True

        await eventually(ended, within=60, what="the end of key and route")

        async def unknown() -> bool:
            path = f"{edge_url}/llm/{slug_of(uid)}/v1/models"
            return (await http.get(path, headers=key.headers)).status_code == 404

        await eventually(unknown, within=20, what="an edge that has forgotten the route")
