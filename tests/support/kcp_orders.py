"""What a provider, a platform and a customer of kcp do with the double: export, onboard, bind, order."""

import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from customer import Credentials
from eventually import eventually
from kcp_world import ADMIN, PROVIDER, Workspace, create_workspace, credentials
from privatellm.kube import KubeClient, kinds
from privatellm.kube.credentials import load_credentials
from privatellm_local.kcp.access import Identity, Role, Tokens
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, ENDPOINT_SLICE
from privatellm_local.kcp.server import KcpDouble
from privatellm_local.platform.rbac import tenant_binding
from privatellm_sync_agent.naming.names import NamingRule
from privatellm_sync_agent.published import defaults

Manifest = dict[str, object]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's workspace with an export.

    Attributes:
        double: The kcp.
        path: Path of the workspace.
        export: Name of the export.
        client: An administrator's client for the workspace.
        agent: The agent's client for it.
        root: An administrator's client for the root workspace.
        stack: Where further clients are closed.
    """

    double: KcpDouble
    path: str
    export: str
    client: KubeClient
    agent: KubeClient
    root: KubeClient
    stack: AsyncExitStack

    async def published(self) -> list[Manifest]:
        """Return the claims of the export, as soon as both kinds are in it."""

        async def found() -> list[Manifest]:
            export = await self.client.get(API_EXPORT, self.export) or {}
            resources = (export.get("spec") or {}).get("resources") or []
            return list(export["spec"]["permissionClaims"]) if len(resources) == 2 else []

        return await eventually(found, what="two published kinds", within=60)

    async def customer(self) -> Workspace:
        """Return a customer's workspace that is bound to the export, with all claims accepted."""
        claims = await self.published()
        name = f"acme-{token_hex(3)}"
        cluster = await create_workspace(self.root, name)
        acme = await client_of(self.stack, self.double, f"root:{name}")
        answer = {"state": "Accepted", "selector": {"matchAll": True}}
        accepted = [
            {k: v for k, v in one.items() if k != "defaultSelector"} | answer for one in claims
        ]
        reference = {"export": {"path": self.path, "name": self.export}}
        spec = {"reference": reference, "permissionClaims": accepted}
        await acme.create(API_BINDING, an_object(API_BINDING, self.export, spec=spec))

        async def bound() -> bool:
            status = (await acme.get(API_BINDING, self.export) or {}).get("status") or {}
            return len(status.get("boundResources") or []) == 2

        await eventually(bound, what="a binding")
        return Workspace(f"root:{name}", cluster, acme)


@asynccontextmanager
async def provider(behind_kcp: Path, export: str) -> AsyncIterator[Provider]:
    """Run a kcp with a provider's workspace and an empty export."""
    async with AsyncExitStack() as stack:
        tokens = Tokens({ADMIN: Identity("admin", Role.ADMIN)})
        double = await stack.enter_async_context(
            KcpDouble(await load_credentials(behind_kcp), tokens)
        )
        root = await client_of(stack, double, "root")
        name = f"provider-{token_hex(3)}"
        await create_workspace(root, name)
        path = f"root:{name}"
        tokens.add(PROVIDER, Identity("agent", workspaces=(path,), content_of=(export,)))
        home = await client_of(stack, double, path)
        await home.create(API_EXPORT, an_object(API_EXPORT, export, spec={}))
        await eventually(lambda: home.get(ENDPOINT_SLICE, export), what="an endpoint slice")
        agent = await client_of(stack, double, path, PROVIDER)
        yield Provider(double, path, export, home, agent, root, stack)


async def client_of(
    stack: AsyncExitStack, double: KcpDouble, path: str, token: str = ADMIN
) -> KubeClient:
    """Return a client for a workspace."""
    url = f"{double.url}/clusters/{path}"
    return await stack.enter_async_context(KubeClient(credentials(url, token)))


async def onboard(client: KubeClient, workspace: Workspace) -> str:
    """Do what the platform does for a customer: the operator may handle Secrets in the local namespace.

    Args:
        client: For the service cluster.
        workspace: The customer's; the local namespace is that of its namespace ``default``.
    """
    name = local_namespace(workspace)
    await client.create(kinds.NAMESPACE, an_object(kinds.NAMESPACE, name))
    await client.create(kinds.ROLE_BINDING, tenant_binding(name))
    return name


def local_namespace(workspace: Workspace) -> str:
    """Return the namespace in the service cluster that stands for a workspace's ``default``."""
    annotations = {"kcp.io/cluster": workspace.cluster}
    remote = {"metadata": {"name": "any", "namespace": "default", "annotations": annotations}}
    return NamingRule(defaults.NAMESPACE, defaults.NAME).local_name(remote).namespace


async def key_in(workspace: Workspace, request: str, within: float) -> Credentials:
    """Return what the Secret of a request in a workspace holds, as soon as it is there."""

    async def key() -> Credentials | None:
        found = await workspace.client.get(kinds.API_TOKEN_REQUEST, request, "default")
        if ((found or {}).get("status") or {}).get("phase") != "Ready":
            return None
        secret = await workspace.client.get(kinds.SECRET, f"{request}-token", "default")
        if secret is None or len(secret.get("data") or {}) != 3:
            return None
        data = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
        return Credentials(data["OPENAI_API_KEY"], data["OPENAI_API_URL"], data["OPENAI_BASE_URL"])

    got = await eventually(key, what="a ready key in the workspace", within=within)
    assert got is not None
    return got


def an_object(kind: kinds.Kind, name: str, **body: object) -> Manifest:
    """Return an object of a kind."""
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}} | body
