"""What the edge passes on, seen at a recording backend behind real Traefik and the real chain."""

import httpx
import pytest

from customer import ask_for_key, order, until_routed
from edge_route import recorded_route
from privatellm.kube import KubeClient

pytestmark = pytest.mark.integration


async def test_the_backend_sees_its_own_key_and_never_the_tenants(
    client: KubeClient, namespace: str
) -> None:
    """Authorization is replaced, identity headers are ours, the prefix is stripped."""
    async with recorded_route(client, namespace, "seen") as route, httpx.AsyncClient() as http:
        forged = {"X-Private-Llm-Key-Id": "forged", "X-Private-Llm-Instance": "forged"}
        answer = await http.post(
            f"{route.credentials.base_url}/chat/completions",
            headers=route.credentials.headers | forged,
            json={},
        )

    assert answer.status_code == 200
    (request,) = route.recorder.requests
    secret = route.credentials.api_key.split("_")[2]
    assert request.request_line == "POST /v1/chat/completions HTTP/1.1"
    assert not any(secret in value for _, value in request.headers)
    (authorization,) = request.values("Authorization")
    assert authorization.startswith("Bearer ")
    assert request.values("X-Private-Llm-Key-Id") == [route.key_id]
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
