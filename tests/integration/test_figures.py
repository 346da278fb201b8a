"""What the platform shows of an instance that works: real servers, the real operator and the real edge."""

import re

import httpx
import pytest

from customer import ask_for_key, chat, order, until_routed
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

OPERATOR = "app.kubernetes.io/name=private-llm-operator"
SOON = 90.0
"""Seconds in which every server is asked once, on a busy machine."""


async def figures(client: KubeClient, namespace: str) -> dict[str, float]:
    """Return what the operator shows of the instances of a namespace, by the metric's name."""
    pods = await client.list(kinds.POD, "private-llm-system", labels=OPERATOR)
    async with httpx.AsyncClient() as http:
        texts = [
            (await http.get(f"http://{pod['status']['podIP']}:8080/metrics")).text
            for pod in pods.items
        ]
    line = re.compile(rf'^(\w+)\{{[^}}]*llm_namespace="{namespace}"[^}}]*\}} (\S+)$', re.MULTILINE)
    return {name: float(value) for text in texts for name, value in line.findall(text)}


async def test_the_figures_of_an_instance_come_and_go_with_it(
    client: KubeClient, namespace: str
) -> None:
    """What its server counted is shown by the operator, and nothing is left when it is deleted."""
    await order(client, namespace, "chat")
    credentials = await ask_for_key(client, namespace, "key", "chat")
    async with httpx.AsyncClient() as http:
        await until_routed(http, credentials)
        answer = await chat(http, credentials)
        assert answer.status_code == 200, answer.text

    async def counted() -> bool:
        shown = await figures(client, namespace)
        return shown.get("private_llm_model_generated_tokens_total", 0) > 0

    await eventually(counted, within=SOON, what="the tokens of the completion")

    async def used() -> bool:
        shown = await figures(client, namespace)
        names = ("private_llm_key_requests_total", "private_llm_instance_requests_total")
        return all(shown.get(name, 0) > 0 for name in names)

    await eventually(used, within=SOON, what="the request that the edge let in")
    shown = await figures(client, namespace)
    assert shown["private_llm_key_requests_total"] == shown["private_llm_instance_requests_total"]
    assert shown["private_llm_model_prompt_tokens_total"] > 0
    assert shown["private_llm_model_generation_seconds_total"] > 0
    assert shown["private_llm_instance_ready_replicas"] == 1
    assert shown["private_llm_model_servers_scraped"] == 1

    await client.delete(kinds.API_TOKEN_REQUEST, "key", namespace)
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)

    async def gone() -> bool:
        return await figures(client, namespace) == {}

    await eventually(gone, within=SOON, what="the end of its series")
