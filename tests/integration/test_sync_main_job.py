"""The main job through kcp: a customer who has only a workspace orders an LLM and gets a key that works."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex

import httpx
import pytest

from customer import Credentials, chat, instance, token_request, until_routed
from eventually import eventually
from kcp_clusters import running
from kcp_world import ADMIN, PROVIDER, Workspace, create_workspace, credentials, install
from privatellm.kube import KubeClient, kinds
from privatellm.kube.credentials import load_credentials
from privatellm_local.kcp.access import Identity, Role, Tokens
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, ENDPOINT_SLICE
from privatellm_local.kcp.server import KcpDouble
from privatellm_local.platform.rbac import tenant_binding
from privatellm_sync_agent.agent import Agent, AgentSettings
from privatellm_sync_agent.kcp.home import find_home
from privatellm_sync_agent.naming.names import NamingRule
from privatellm_sync_agent.published import defaults
from privatellm_sync_agent.published.definition import published_resource_definition
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = pytest.mark.integration

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
    async with AsyncExitStack() as stack:
        tokens = Tokens({ADMIN: Identity("admin", Role.ADMIN)})
        double = await stack.enter_async_context(
            KcpDouble(await load_credentials(behind_kcp), tokens)
        )
        admin = await _client(stack, double, "root")
        provider = f"provider-{token_hex(3)}"
        await create_workspace(admin, provider)
        path = f"root:{provider}"
        tokens.add(PROVIDER, Identity("agent", workspaces=(path,), content_of=(EXPORT,)))
        home = await _client(stack, double, path)
        await home.create(API_EXPORT, _object(API_EXPORT, EXPORT, spec={}))
        await eventually(lambda: home.get(ENDPOINT_SLICE, EXPORT), what="an endpoint slice")
        await _publish(client)
        await _run_agent(stack, double, path, client)
        yield await _customer(stack, double, home, path, admin)


def _object(kind: kinds.Kind, name: str, **body: object) -> dict[str, object]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}} | body


async def _client(
    stack: AsyncExitStack, double: KcpDouble, path: str, token: str = ADMIN
) -> KubeClient:
    url = f"{double.url}/clusters/{path}"
    return await stack.enter_async_context(KubeClient(credentials(url, token)))


async def _publish(client: KubeClient) -> None:
    await install(client, published_resource_definition())
    for manifest in defaults.published_resources():
        await client.apply(PUBLISHED_RESOURCE, manifest, field_manager="tests")


async def _run_agent(
    stack: AsyncExitStack, double: KcpDouble, path: str, client: KubeClient
) -> None:
    kcp = await _client(stack, double, path, PROVIDER)
    home = await find_home(kcp, EXPORT)
    agent = Agent(AgentSettings("private-llm"), service=client, kcp=kcp, home=home)
    task = asyncio.create_task(agent.run())

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)


async def _customer(
    stack: AsyncExitStack, double: KcpDouble, home: KubeClient, path: str, admin: KubeClient
) -> Workspace:
    async def published() -> list[dict[str, object]]:
        export = await home.get(API_EXPORT, EXPORT) or {}
        found = (export.get("spec") or {}).get("resources") or []
        return list(export["spec"]["permissionClaims"]) if len(found) == 2 else []

    claims = await eventually(published, what="two published kinds")
    name = f"acme-{token_hex(3)}"
    cluster = await create_workspace(admin, name)
    acme = await _client(stack, double, f"root:{name}")
    answer = {"state": "Accepted", "selector": {"matchAll": True}}
    accepted = [{k: v for k, v in one.items() if k != "defaultSelector"} | answer for one in claims]
    reference = {"export": {"path": path, "name": EXPORT}}
    spec = {"reference": reference, "permissionClaims": accepted}
    await acme.create(API_BINDING, _object(API_BINDING, EXPORT, spec=spec))

    async def bound() -> bool:
        status = (await acme.get(API_BINDING, EXPORT) or {}).get("status") or {}
        return len(status.get("boundResources") or []) == 2

    await eventually(bound, what="a binding")
    return Workspace(f"root:{name}", cluster, acme)


async def onboard(client: KubeClient, workspace: Workspace) -> str:
    """Do what the platform does for a customer: the operator may handle Secrets in the namespace."""
    annotations = {"kcp.io/cluster": workspace.cluster}
    remote = {"metadata": {"name": "any", "namespace": "default", "annotations": annotations}}
    name = NamingRule(defaults.NAMESPACE, defaults.NAME).local_name(remote).namespace
    await client.create(kinds.NAMESPACE, _object(kinds.NAMESPACE, name))
    await client.create(kinds.ROLE_BINDING, tenant_binding(name))
    return name


async def test_a_customer_with_only_a_workspace_gets_a_key_that_works(
    workspace: Workspace, client: KubeClient
) -> None:
    """Two objects go in, a Secret comes back, and everything ends when they do."""
    acme = workspace.client
    namespace = await onboard(client, workspace)
    await acme.create(kinds.LLM_INSTANCE, instance("default", "chat"))
    await acme.create(kinds.API_TOKEN_REQUEST, token_request("default", "chat-key", "chat"))

    async def key() -> Credentials | None:
        request = await acme.get(kinds.API_TOKEN_REQUEST, "chat-key", "default")
        if ((request or {}).get("status") or {}).get("phase") != "Ready":
            return None
        secret = await acme.get(kinds.SECRET, "chat-key-token", "default")
        if secret is None or len(secret.get("data") or {}) != 3:
            return None
        data = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
        return Credentials(data["OPENAI_API_KEY"], data["OPENAI_API_URL"], data["OPENAI_BASE_URL"])

    got = await eventually(key, what="a ready key in the workspace", within=COLD_START_SECONDS)
    assert got is not None
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
