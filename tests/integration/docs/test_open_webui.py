"""The values for Open WebUI give its server what it needs, without the server itself.

Open WebUI comes as an image, which nothing here can run. What it does with its variables is little: it
lists ``{OPENAI_API_BASE_URL}/models`` with the key as a bearer token, and posts to ``/chat/completions``
below the same URL (its ``routers/openai.py``).
"""

import base64
from typing import Any

import httpx
import pytest
import yaml

from docs_pages import EXAMPLES
from embedded import Environment, kubectl
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VARIABLES: list[dict[str, Any]] = yaml.safe_load(
    (EXAMPLES / "open-webui" / "values.yaml").read_text()
)["extraEnvVars"]


@pytest.fixture
async def variables(client: KubeClient) -> dict[str, str]:
    """What the server's container gets, from the demo's Secret in the place of `my-key-token`."""
    secret = await client.get(kinds.SECRET, "demo-token", "demo")
    assert secret is not None

    def value_of(variable: dict[str, Any]) -> str:
        if "value" in variable:
            return str(variable["value"])
        key = variable["valueFrom"]["secretKeyRef"]["key"]
        return base64.b64decode(secret["data"][key]).decode()

    return {variable["name"]: value_of(variable) for variable in VARIABLES}


async def test_a_chat_goes_as_open_webui_asks(variables: dict[str, str]) -> None:
    """The model is found, and its answer streams."""
    url = variables["OPENAI_API_BASE_URL"]
    bearer = {"Authorization": f"Bearer {variables['OPENAI_API_KEY']}"}
    question = {
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
        "max_tokens": 24,
        "stop": ["\n"],
        "stream": True,
    }
    async with httpx.AsyncClient(headers=bearer, timeout=60, trust_env=False) as server:
        (model,) = (await server.get(f"{url}/models")).json()["data"]
        answer = await server.post(
            f"{url}/chat/completions", json=question | {"model": model["id"]}
        )

    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert "Paris" in answer.text
    assert answer.text.rstrip().endswith("data: [DONE]")


async def test_the_variables_are_those_of_a_container(environment: Environment) -> None:
    """The chart hands them to the API server as they are, which takes them without a warning."""
    container = {"name": "open-webui", "image": "example.com/open-webui", "env": VARIABLES}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "open-webui", "namespace": "demo"},
        "spec": {"containers": [container]},
    }

    strictly = ("--dry-run=server", "--validate=strict", "-f", "-")
    printed = await kubectl(environment, "create", *strictly, stdin=yaml.safe_dump(pod))

    assert printed.startswith("pod/open-webui created")
