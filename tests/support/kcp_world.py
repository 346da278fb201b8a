"""A provider with a service cluster and an export, and customers with workspaces, on the kcp double."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from kubernetes.aio.client import Configuration

from eventually import eventually
from kcp_clusters import Servers
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.credentials import Credentials, load_credentials
from privatellm.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SECRET, Kind
from privatellm_local.kcp.access import Identity, Role, Tokens
from privatellm_local.kcp.kinds import (
    API_BINDING,
    API_EXPORT,
    CORE_EVENT,
    ENDPOINT_SLICE,
    FOLLOWED,
    LOGICAL_CLUSTER,
    WORKSPACE,
)
from privatellm_local.kcp.labels import CLUSTER as CLUSTER_LABEL
from privatellm_local.kcp.server import KcpDouble
from privatellm_sync_agent.agent import Agent, AgentSettings
from privatellm_sync_agent.kcp.home import find_home
from privatellm_sync_agent.published.definition import published_resource_definition
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

ADMIN, PROVIDER = "admin-token", "provider-token"


def credentials(server: str, token: str) -> Credentials:
    """Return credentials for a server of plain HTTP."""
    configuration = Configuration(host=server)
    configuration.api_key = {"BearerToken": token}
    configuration.api_key_prefix = {"BearerToken": "Bearer"}
    return Credentials(None, configuration)


@dataclass(slots=True)
class Workspace:
    """A workspace and a client that sees it as its members do."""

    path: str
    cluster: str
    client: KubeClient

    async def create(
        self, kind: Kind, name: str, namespace: str | None = None, **body: Any
    ) -> Manifest:
        """Create an object."""
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        metadata |= body.pop("metadata", {})
        typed = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        return await self.client.create(kind, typed | body)

    async def namespace(self, name: str, **labels: str) -> None:
        """Create a namespace."""
        await self.create(NAMESPACE, name, metadata={"labels": labels})

    async def serves(self, group: str, plural: str) -> bool:
        """Return whether the workspace's discovery knows a resource."""
        try:
            versions = (await self.client.request("GET", f"/apis/{group}"))["versions"]
            paths = [f"/apis/{one['groupVersion']}" for one in versions]
            found = [await self.client.request("GET", path) for path in paths]
        except KubernetesError:
            return False
        return any(entry["name"] == plural for one in found for entry in one["resources"])

    async def events(self, name: str) -> set[str]:
        """Return the reasons of the events on an object."""
        listing = await self.client.list(CORE_EVENT)
        return {one["reason"] for one in listing.items if one["involvedObject"]["name"] == name}


@dataclass(slots=True)
class World:
    """Everything a test of the agent needs."""

    double: KcpDouble
    service: KubeClient
    admin: KubeClient
    provider: Workspace
    suffix: str
    kind: Kind
    clients: list[KubeClient] = field(default_factory=list)

    @property
    def export(self) -> str:
        """Name of the export."""
        return f"export-{self.suffix}"

    @property
    def agent_name(self) -> str:
        """Name of the agent that runs unless a test says otherwise."""
        return f"agent-{self.suffix}"

    @property
    def group(self) -> str:
        """A group that no other test uses."""
        return self.kind.group

    async def workspace(self, name: str, parent: str = "root") -> Workspace:
        """Create a workspace and return it when it is ready."""
        client = self._client(f"{self.double.url}/clusters/{parent}")
        found = await create_workspace(client, name)
        path = f"{parent}:{name}"
        return Workspace(path, found, self._client(f"{self.double.url}/clusters/{path}"))

    async def customer(self, name: str = "", *, claims: bool = True) -> Workspace:
        """Create a workspace that is bound to the export."""
        workspace = await self.workspace(f"{name or 'acme'}-{token_hex(3)}")
        await self.bind(workspace, claims=claims)
        return workspace

    async def bind(self, workspace: Workspace, *, claims: bool = True) -> None:
        """Bind a workspace to the export, with all or none of its claims accepted."""
        reference = {"export": {"path": self.provider.path, "name": self.export}}
        spec = {
            "reference": reference,
            "permissionClaims": await self.claims("Accepted") if claims else [],
        }
        await workspace.create(API_BINDING, self.export, spec=spec)

        async def bound() -> bool:
            binding = await workspace.client.get(API_BINDING, self.export)
            status = (binding or {}).get("status") or {}
            resources = status.get("boundResources") or []
            # The API is served a moment later than its binding says that it is bound.
            served = [await workspace.serves(one["group"], one["resource"]) for one in resources]
            return bool(status.get("phase") == "Bound" and served and all(served))

        await eventually(bound, what="a binding", within=60)

    async def claims(self, state: str) -> list[dict[str, Any]]:
        """Return the export's claims as a customer answers them."""
        export = await self.provider.client.get(API_EXPORT, self.export)
        found = ((export or {}).get("spec") or {}).get("permissionClaims") or []
        answer = {"state": state, "selector": {"matchAll": True}}
        return [
            {k: v for k, v in claim.items() if k != "defaultSelector"} | answer for claim in found
        ]

    async def answer_claims(self, workspace: Workspace, state: str) -> None:
        """Accept or reject the export's claims."""
        body = {"spec": {"permissionClaims": await self.claims(state)}}
        await workspace.client.patch(API_BINDING, self.export, None, body)

    async def publish(self, name: str = "things", **spec: Any) -> str:
        """Create a PublishedResource for the test's kind and return its name."""
        annotations = spec.pop("annotations", {})
        resource = {"apiGroup": self.kind.group, "kind": self.kind.name}
        full = f"{name}-{self.suffix}"
        metadata = {"name": full, "labels": {"test": self.suffix}, "annotations": annotations}
        manifest = {
            "apiVersion": PUBLISHED_RESOURCE.api_version,
            "kind": PUBLISHED_RESOURCE.name,
            "metadata": metadata,
            "spec": {"resource": resource} | spec,
        }
        await self.service.create(PUBLISHED_RESOURCE, manifest)
        return full

    @asynccontextmanager
    async def agent(
        self,
        name: str = "",
        service: KubeClient | None = None,
        provided: Path | None = None,
        overrides: tuple[tuple[str, str], ...] = (),
    ) -> AsyncIterator[Agent]:
        """Run an agent in this process until the block ends.

        Args:
            name: Its name; absent: the world's.
            service: Client for the service cluster; absent: an administrator's.
            provided: Directory with the PublishedResources that it applies; absent: it handles the world's.
            overrides: Hosts of endpoints that it reaches under another one.
        """
        url = f"{self.double.url}/clusters/{self.provider.path}"
        kcp = KubeClient(credentials(url, PROVIDER))
        selector = "" if provided else f"test={self.suffix}"
        settings = AgentSettings(
            name or self.agent_name, selector, provided=provided, overrides=overrides
        )
        home = await find_home(kcp, self.export)
        agent = Agent(settings, service=service or self.service, kcp=kcp, home=home)
        task = asyncio.create_task(agent.run())
        try:
            yield agent
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await kcp.close()

    async def copies(self, agent: str = "") -> tuple[Manifest, ...]:
        """Return the copies in the service cluster that an agent made."""
        labels = f"syncagent.kcp.io/agent-name={agent or self.agent_name}"
        return (await self.service.list(self.kind, labels=labels)).items

    async def copy_of(self, workspace: Workspace, name: str) -> Manifest:
        """Return the only copy of an object, as soon as there is one."""

        async def found() -> Manifest | None:
            mine = [
                copy
                for copy in await self.copies()
                if copy["metadata"]["labels"]["syncagent.kcp.io/remote-object-cluster"]
                == workspace.cluster
                and copy["metadata"]["annotations"]["syncagent.kcp.io/remote-object-name"] == name
            ]
            assert len(mine) < 2
            return mine[0] if mine else None

        copy = await eventually(found, what=f"a copy of {name}")
        assert copy is not None
        return copy

    async def published(self, count: int = 1) -> None:
        """Wait until the export says what the agent publishes: so many kinds."""

        async def done() -> bool:
            export = await self.provider.client.get(API_EXPORT, self.export)
            return len(((export or {}).get("spec") or {}).get("resources") or []) >= count

        await eventually(done, what="an entry in the export")

    async def close(self) -> None:
        """Remove what other tests would see and close every client."""
        await self._forget_kind()
        listing = await self.service.list(PUBLISHED_RESOURCE, labels=f"test={self.suffix}")
        for published in listing.items:
            await self.service.delete(PUBLISHED_RESOURCE, published["metadata"]["name"])
        for client in (*self.clients, self.admin, self.service):
            await client.close()

    async def _forget_kind(self) -> None:
        """Remove the definition below; objects that wait for an agent would keep it."""
        try:
            for copy in (await self.service.list(self.kind)).items:
                metadata = copy["metadata"]
                place = (metadata["name"], metadata.get("namespace"))
                await self.service.patch(self.kind, *place, {"metadata": {"finalizers": None}})
        except KubernetesError:
            return
        name = f"{self.kind.plural}.{self.kind.group}"
        await self.service.delete(CUSTOM_RESOURCE_DEFINITION, name)

    def _client(self, url: str, token: str = ADMIN) -> KubeClient:
        client = KubeClient(credentials(url, token))
        self.clients.append(client)
        return client


async def create_workspace(parent: KubeClient, name: str) -> str:
    """Create a workspace and return its cluster when it is ready."""
    manifest = {
        "apiVersion": WORKSPACE.api_version,
        "kind": WORKSPACE.name,
        "metadata": {"name": name},
        "spec": {"type": {"name": "universal", "path": "root"}},
    }
    await parent.create(WORKSPACE, manifest)

    async def ready() -> str:
        found = await parent.get(WORKSPACE, name) or {}
        phase = (found.get("status") or {}).get("phase")
        return str(found["spec"]["cluster"]) if phase == "Ready" else ""

    return await eventually(ready, what=f"the workspace {name}", within=60)


async def gone(world: World, workspace: Workspace, agent: Agent) -> None:
    """Delete a workspace and wait until the agent sees that it is gone."""
    name = workspace.path.removeprefix("root:")
    await world.admin.delete(WORKSPACE, name)

    async def out_of_sight() -> bool:
        known = [one.world.knows(workspace.cluster) for one in agent.manager.synchronizers]
        return known == [False]

    await eventually(out_of_sight, what="the end of the workspace", within=40)


@asynccontextmanager
async def running_double(servers: Servers) -> AsyncIterator[KcpDouble]:
    """Run the double in front of its API server."""
    tokens = Tokens({ADMIN: Identity("admin", Role.ADMIN)})
    async with KcpDouble(await load_credentials(servers.behind_kcp), tokens) as double:
        yield double


@asynccontextmanager
async def world(servers: Servers) -> AsyncIterator[World]:
    """Run a double with a provider, its export and its kind, without an agent."""
    suffix = token_hex(4)
    kind = Kind(f"{suffix}.example.com", "v1", "Thing", "things")
    async with running_double(servers) as double:
        admin = KubeClient(credentials(f"{double.url}/clusters/root", ADMIN))
        cluster = await create_workspace(admin, f"provider-{suffix}")
        path = f"root:provider-{suffix}"
        member = Identity("provider", workspaces=(path,), content_of=(f"export-{suffix}",))
        double.tokens.add(PROVIDER, member)
        client = KubeClient(credentials(f"{double.url}/clusters/{path}", ADMIN))
        service = await KubeClient.connect(servers.service)
        provider = Workspace(path, cluster, client)
        made = World(double, service, admin, provider, suffix, kind, [client])
        await install(service, published_resource_definition())
        await install(service, definition(kind))
        await provider.create(API_EXPORT, made.export, spec={})
        await eventually(lambda: client.get(ENDPOINT_SLICE, made.export), what="an endpoint slice")
        try:
            yield made
        finally:
            await made.close()
    await hide_all(servers)


async def hide_all(servers: Servers) -> None:
    """Let the next double start with nothing but the root: what has no cluster is not seen."""
    async with await KubeClient.connect(servers.behind_kcp) as behind:
        for kind in FOLLOWED:
            listing = await behind.list(kind, labels=f"{CLUSTER_LABEL},{CLUSTER_LABEL}!=root")
            hidden = {"metadata": {"labels": {CLUSTER_LABEL: None}}}
            names = [one["metadata"]["name"] for one in listing.items]
            await asyncio.gather(*(behind.patch(kind, name, None, hidden) for name in names))


def definition(kind: Kind, *, status: bool = True) -> Manifest:
    """Return a definition of a kind with a free spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": anything},
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
            },
            "versions": [version | ({"subresources": {"status": {}}} if status else {})],
        },
    }


async def install(client: KubeClient, crd: Manifest) -> None:
    """Install a definition and wait until it is served."""
    await client.apply(CUSTOM_RESOURCE_DEFINITION, crd, field_manager="tests")

    async def established() -> bool:
        found = await client.get(CUSTOM_RESOURCE_DEFINITION, crd["metadata"]["name"])
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    await eventually(established, what=f"the definition {crd['metadata']['name']}")
    spec = crd["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"

    async def served() -> bool:
        # Right after it is established, the API server may still ask for patience.
        try:
            await client.request("GET", path, query={"limit": "1"})
        except KubernetesError:
            return False
        return True

    await eventually(served, what=path)


__all__ = [
    "ADMIN",
    "CONFIG_MAP",
    "LOGICAL_CLUSTER",
    "NAMESPACE",
    "PROVIDER",
    "SECRET",
    "Workspace",
    "World",
    "running_double",
    "world",
]
