"""The main job through kcp: a customer who has only a workspace orders an LLM and gets a key that works."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from customer import chat, instance, token_request, until_routed
from eventually import eventually
from kcp_clusters import running
from kcp_orders import key_in, onboard, provider
from kcp_world import Workspace, install
from privatellm.kube import KubeClient, kinds
from privatellm_sync_agent.agent import Agent, AgentSettings
from privatellm_sync_agent.kcp.home import find_home
from privatellm_sync_agent.published import defaults
from privatellm_sync_agent.published.definition import published_resource_definition
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

EXPORT = "private-llm"
COLD_START_SECONDS = 120.0


@pytest.fixture(scope="session")
def behind_kcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of the API server behind the double."""
    with running(tmp_path_factory.mktemp("kcp"), "kcp") as (kubeconfig,):
        yield kubeconfig


@pytest.fixture
async def workspace(behind_kcp: Path, client: KubeClient) -> AsyncIterator[Workspace]:
    """A customer's workspace that is bound to our export; the agent runs, the platform onboards."""
    async with provider(behind_kcp, EXPORT) as home:
        await install(client, published_resource_definition())
        for manifest in defaults.published_resources():
            await client.apply(PUBLISHED_RESOURCE, manifest, field_manager="tests")
        found = await find_home(home.agent, EXPORT)
        agent = Agent(AgentSettings("private-llm"), service=client, kcp=home.agent, home=found)
        task = asyncio.create_task(agent.run())
        try:
            yield await home.customer()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_customer_with_only_a_workspace_gets_a_key_that_works(
    workspace: Workspace, client: KubeClient
) -> None:
    """Two objects go in, a Secret comes back, and everything ends when they do."""
    acme = workspace.client
    namespace = await onboard(client, workspace)
    await acme.create(kinds.LLM_INSTANCE, instance("default", "chat"))
    await acme.create(kinds.API_TOKEN_REQUEST, token_request("default", "chat-key", "chat"))

    got = await key_in(workspace, "chat-key", COLD_START_SECONDS)
    async with httpx.AsyncClient() as http:
        await until_routed(http, got)
        answer = await chat(http, got)
        assert answer.status_code == 200, answer.text
        assert "Paris" in answer.json()["choices"][0]["message"]["content"]

        seen = await acme.get(kinds.LLM_INSTANCE, "chat", "default")
        assert seen is not None
        assert seen["status"]["phase"] == "Ready"
        assert seen["status"]["endpoint"] == got.url

        await acme.delete(kinds.API_TOKEN_REQUEST, "chat-key", "default")

        async def taken_back() -> bool:
            gone = await acme.get(kinds.SECRET, "chat-key-token", "default") is None
            refused = (await http.get(f"{got.base_url}/models", headers=got.headers)).status_code
            return gone and refused == 401

        await eventually(taken_back, what="a key that is gone and refused", within=30)
        await acme.delete(kinds.LLM_INSTANCE, "chat", "default")

        async def ended() -> bool:
            below = await client.list(kinds.LLM_INSTANCE, namespace)
            above = await acme.get(kinds.LLM_INSTANCE, "chat", "default")
            return above is None and not below.items

        await eventually(ended, what="the end of the instance on both sides", within=60)
