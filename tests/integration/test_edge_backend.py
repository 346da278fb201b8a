"""What the edge passes on, seen at a recording backend behind real Traefik and the real chain."""

import secrets
from typing import Any

import httpx
import pytest

from customer import ask_for_key, order, until_routed
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from recorder import recording

pytestmark = pytest.mark.integration


def _service(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "recorder", "namespace": namespace},
        # Without a selector the host node leaves the cluster IP to the test.
        "spec": {"ports": [{"name": f"r-{secrets.token_hex(4)}", "port": 8001}]},
    }


def _route(ingress: dict[str, Any], port_name: str) -> dict[str, Any]:
    """Return a copy of an instance's Ingress that wins and leads to the recorder."""
    annotations = ingress["metadata"]["annotations"] | {
        "traefik.ingress.kubernetes.io/router.priority": "9999"
    }
    rule = ingress["spec"]["rules"][0]
    path = rule["http"]["paths"][0] | {
        "backend": {"service": {"name": "recorder", "port": {"name": port_name}}}
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "recorder",
            "namespace": ingress["metadata"]["namespace"],
            "annotations": annotations,
        },
        "spec": ingress["spec"] | {"rules": [rule | {"http": {"paths": [path]}}]},
    }


async def test_the_backend_sees_its_own_key_and_never_the_tenants(
    client: KubeClient, namespace: str
) -> None:
    """Authorization is replaced, identity headers are ours, the prefix is stripped."""
    await order(client, namespace, "seen", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "seen", "seen")
    ingress = await client.get(kinds.INGRESS, "seen-llama", namespace)
    backend_key = await client.get(kinds.SECRET, "seen-llama-key", namespace)
    assert ingress is not None
    assert backend_key is not None
    service = await client.create(kinds.SERVICE, _service(namespace))
    address = service["spec"]["clusterIP"]

    async with recording(address, 8001) as recorder, httpx.AsyncClient() as http:
        await client.create(kinds.INGRESS, _route(ingress, service["spec"]["ports"][0]["name"]))
        forged = {"X-Private-Llm-Key-Id": "forged", "X-Private-Llm-Instance": "forged"}

        async def recorded() -> bool:
            answer = await http.post(
                f"{credentials.base_url}/chat/completions",
                headers=credentials.headers | forged,
                json={},
            )
            return answer.status_code == 200

        await eventually(recorded, within=15, what="the recorder's route")

    request = recorder.requests[-1]
    secret = credentials.api_key.split("_")[2]
    assert request.request_line == "POST /v1/chat/completions HTTP/1.1"
    assert not any(secret in value for _, value in request.headers)
    (authorization,) = request.values("Authorization")
    assert authorization.startswith("Bearer ")
    assert request.values("X-Private-Llm-Key-Id") == [credentials.api_key.split("_")[1]]
    assert request.values("X-Private-Llm-Instance") != ["forged"]


@pytest.mark.parametrize(
    "path",
    ["/props", "/slots", "/metrics", "/lora-adapters", "/", "/v1/../slots", "/v1/models/../../x"],
)
async def test_paths_outside_the_allow_list_never_reach_a_model_server(
    client: KubeClient, namespace: str, path: str
) -> None:
    """A valid key opens the OpenAI API and nothing else of the server."""
    await order(client, namespace, "closed", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "closed", "closed")

    async with httpx.AsyncClient() as http:
        await until_routed(http, credentials)
        target = httpx.URL(credentials.url).copy_with(
            raw_path=httpx.URL(credentials.url).raw_path + path.encode()
        )
        answer = await http.get(target, headers=credentials.headers)

    assert answer.status_code in {400, 403}
