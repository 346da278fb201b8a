"""What a client of kcp relies on: the same sentences for the double and, with ``KCP_KUBECONFIG``, for kcp.

``KCP_KUBECONFIG`` names a kubeconfig of an administrator whose server ends in ``/clusters/root``. The tests
make workspaces of their own there and delete them.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_world import ADMIN, create_workspace, credentials, definition, hide_all, running_double
from privatellm.errors import (
    ConflictError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    RejectedError,
)
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import NAMESPACE, SECRET, Kind
from privatellm_local.kcp.kinds import (
    API_BINDING,
    API_EXPORT,
    API_RESOURCE_SCHEMA,
    ENDPOINT_SLICE,
    LOGICAL_CLUSTER,
    WORKSPACE,
)
from privatellm_sync_agent.projection.schemas import schema_of

pytestmark = pytest.mark.deep

CLAIM = {"group": "", "resource": "secrets", "verbs": ["*"]}


@dataclass(slots=True)
class Kcp:
    """A kcp with a provider's export and a way to make customers."""

    admin: KubeClient
    base: str
    provider: str
    kind: Kind
    export: str

    def at(self, workspace: str) -> KubeClient:
        """Return a client for a workspace by path or name."""
        return self.admin.at(f"{self.base}/clusters/{workspace}")

    async def workspace(self) -> tuple[str, str]:
        """Make a workspace and return its path and its cluster."""
        name = f"customer-{token_hex(4)}"
        return f"root:{name}", await create_workspace(self.admin, name)

    async def bind(self, path: str, state: str = "Accepted") -> None:
        """Bind a workspace to the export."""
        reference = {"export": {"path": self.provider, "name": self.export}}
        claim = CLAIM | {"state": state, "selector": {"matchAll": True}}
        spec = {"reference": reference, "permissionClaims": [claim]}
        await make(self.at(path), API_BINDING, "things", spec=spec)

        async def bound() -> bool:
            found = await self.at(path).get(API_BINDING, "things")
            status = (found or {}).get("status") or {}
            return bool(status.get("phase") == "Bound" and status.get("boundResources"))

        await eventually(bound, what="a binding", within=30)

    async def virtual(self, cluster: str) -> KubeClient:
        """Return a client for the virtual workspace of the export."""

        async def url() -> str:
            found = await self.at(self.provider).get(ENDPOINT_SLICE, self.export)
            endpoints = ((found or {}).get("status") or {}).get("endpoints") or []
            return str(endpoints[0]["url"]) if endpoints else ""

        base = await eventually(url, what="an endpoint", within=30)
        return self.admin.at(f"{base}/clusters/{cluster}")


async def make(
    client: KubeClient, kind: Kind, name: str, namespace: str = "", **body: Any
) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= body.pop("metadata", {})
    typed = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
    return await client.create(kind, typed | body)


@pytest.fixture
def behind(request: pytest.FixtureRequest) -> Servers | None:
    """The API servers of the double; none where there is a real kcp. They start outside of any loop."""
    if "KCP_KUBECONFIG" in os.environ:
        return None
    servers: Servers = request.getfixturevalue("api_servers")
    return servers


@pytest.fixture
async def kcp(behind: Servers | None) -> AsyncIterator[Kcp]:
    """A kcp, real or not, with an export of a kind that nobody else has."""
    if behind is None:
        async with await KubeClient.connect(Path(os.environ["KCP_KUBECONFIG"])) as admin:
            yield await provide(admin, admin.server.removesuffix("/clusters/root"))
        return
    async with (
        running_double(behind) as double,
        KubeClient(credentials(f"{double.url}/clusters/root", ADMIN)) as admin,
    ):
        yield await provide(admin, double.url)
    await hide_all(behind)


async def provide(admin: KubeClient, base: str) -> Kcp:
    suffix = token_hex(4)
    await create_workspace(admin, f"provider-{suffix}")
    kind = Kind(f"{suffix}.example.com", "v1", "Thing", "things")
    made = Kcp(admin, base, f"root:provider-{suffix}", kind, f"export-{suffix}")
    home = made.at(made.provider)
    schema = schema_of(definition(kind)["spec"], "agent", 1)
    await home.create(API_RESOURCE_SCHEMA, schema)
    entry = {
        "name": kind.plural,
        "group": kind.group,
        "schema": schema["metadata"]["name"],
        "storage": {"crd": {}},
    }
    spec = {"resources": [entry], "permissionClaims": [CLAIM]}
    await make(home, API_EXPORT, made.export, spec=spec)
    return made


async def test_a_workspace_is_a_logical_cluster_with_a_path(kcp: Kcp) -> None:
    """By path and by name it is the same one, and it has a default namespace."""
    path, cluster = await kcp.workspace()
    found = await kcp.at(path).get(LOGICAL_CLUSTER, "cluster")
    assert found is not None
    assert found["metadata"]["annotations"]["kcp.io/path"] == path
    assert found["metadata"]["annotations"]["kcp.io/cluster"] == cluster
    assert await kcp.at(cluster).get(NAMESPACE, "default") is not None


async def test_an_export_has_an_identity_and_endpoints_only_while_it_is_bound(kcp: Kcp) -> None:
    """An empty list means to wait."""
    home = kcp.at(kcp.provider)

    async def identified() -> bool:
        found = await home.get(API_EXPORT, kcp.export)
        return bool(((found or {}).get("status") or {}).get("identityHash"))

    await eventually(identified, what="an identity")
    found = await eventually(lambda: home.get(ENDPOINT_SLICE, kcp.export), what="a slice")
    assert not ((found or {}).get("status") or {}).get("endpoints")
    path, cluster = await kcp.workspace()
    await kcp.bind(path)
    assert await kcp.virtual(cluster)


async def test_every_object_says_which_cluster_it_is_of(kcp: Kcp) -> None:
    """In single answers, lists and watches, of the workspace and of the wildcard."""
    path, cluster = await kcp.workspace()
    await kcp.bind(path)
    made = await make(kcp.at(path), kcp.kind, "x", "default", spec={"size": 1})
    assert made["metadata"]["annotations"]["kcp.io/cluster"] == cluster
    wildcard = await kcp.virtual("*")

    async def listed() -> Manifest | None:
        try:
            items = (await wildcard.list(kcp.kind)).items
        except (KubernetesError, KeyError):
            return None
        return items[0] if items else None

    seen = await eventually(listed, what="the object in the wildcard")
    assert seen is not None
    assert seen["metadata"]["uid"] == made["metadata"]["uid"]
    assert (seen["metadata"]["name"], seen["metadata"]["namespace"]) == ("x", "default")
    assert seen["metadata"]["annotations"]["kcp.io/cluster"] == cluster


async def test_a_wildcard_watch_goes_on_from_a_wildcard_list(kcp: Kcp) -> None:
    """Versions are comparable over all workspaces, and none is missed in between."""
    first, _ = await kcp.workspace()
    second, _ = await kcp.workspace()
    for path in (first, second):
        await kcp.bind(path)
        await make(kcp.at(path), kcp.kind, "before", "default", spec={})
    wildcard = await kcp.virtual("*")

    async def both() -> str:
        try:
            listing = await wildcard.list(kcp.kind)
        except (KubernetesError, KeyError):
            return ""
        return listing.resource_version if len(listing.items) == 2 else ""

    version = await eventually(both, what="two objects in the wildcard")
    for path in (first, second):
        await make(kcp.at(path), kcp.kind, "after", "default", spec={})
    seen = []
    watch = wildcard.watch(kcp.kind, resource_version=version)
    async with asyncio.timeout(20), aclosing(watch) as events:  # type: ignore[type-var]
        async for event in events:
            if event.type == "ADDED":
                seen.append(event.object["metadata"]["name"])
            if len(seen) == 2:
                break
    assert seen == ["after", "after"]


async def test_the_wildcard_only_lists_and_watches(kcp: Kcp) -> None:
    """And across namespaces only."""
    path, _ = await kcp.workspace()
    await kcp.bind(path)
    wildcard = await kcp.virtual("*")
    with pytest.raises(RejectedError):
        await wildcard.list(kcp.kind, "default")
    with pytest.raises(NotFoundError):
        await wildcard.request("GET", kcp.kind.path("", "x"))
    with pytest.raises(NotFoundError):
        await make(wildcard, kcp.kind, "x", spec={})


async def test_a_virtual_workspace_reaches_only_bound_clusters_and_claimed_resources(
    kcp: Kcp,
) -> None:
    """Everything else is 403, and never 404."""
    path, cluster = await kcp.workspace()
    _, stranger = await kcp.workspace()
    await kcp.bind(path)
    reached = await kcp.virtual(cluster)
    assert await reached.list(SECRET) is not None
    for client, kind in (
        (await kcp.virtual(stranger), kcp.kind),
        (reached, Kind("", "v1", "ConfigMap", "configmaps")),
        (reached, Kind("no.example.com", "v1", "No", "nos")),
        (await kcp.virtual(path), kcp.kind),
    ):
        with pytest.raises(ForbiddenError):
            await client.list(kind)


async def test_a_claim_opens_and_closes_what_exists_already(kcp: Kcp) -> None:
    """Rejected later, every object is reported as deleted although it is still there."""
    path, cluster = await kcp.workspace()
    await make(kcp.at(path), SECRET, "s", "default")
    await kcp.bind(path, "Rejected")
    wildcard = await kcp.virtual("*")
    with pytest.raises(ForbiddenError):
        await (await kcp.virtual(cluster)).get(SECRET, "s", "default")

    async def visible() -> set[str]:
        listing = await wildcard.list(SECRET)
        return {one["metadata"]["name"] for one in listing.items}

    assert "s" not in await visible()
    await answer(kcp, path, "Accepted")

    async def opened() -> bool:
        return "s" in await visible()

    await eventually(opened, what="a visible Secret")
    version = (await wildcard.list(SECRET)).resource_version
    await answer(kcp, path, "Rejected")
    watch = wildcard.watch(SECRET, resource_version=version)
    async with asyncio.timeout(20), aclosing(watch) as events:  # type: ignore[type-var]
        async for event in events:
            if event.type == "DELETED" and event.object["metadata"]["name"] == "s":
                break
    assert await kcp.at(path).get(SECRET, "s", "default") is not None


async def answer(kcp: Kcp, path: str, state: str) -> None:
    claim = CLAIM | {"state": state, "selector": {"matchAll": True}}
    await kcp.at(path).patch(API_BINDING, "things", None, {"spec": {"permissionClaims": [claim]}})


async def test_writes_through_the_virtual_workspace_are_real_ones(kcp: Kcp) -> None:
    """Optimistic locks, the status subresource, finalizers and server-side apply work as anywhere."""
    path, cluster = await kcp.workspace()
    await kcp.bind(path)
    reached = await kcp.virtual(cluster)
    made = await make(reached, kcp.kind, "x", "default", spec={"size": 1})
    changed = await reached.patch(
        kcp.kind, "x", "default", {"metadata": {"finalizers": ["example.com/f"]}}
    )
    with pytest.raises(ConflictError):
        await reached.replace(kcp.kind, made | {"spec": {"size": 2}})
    status = await reached.replace(kcp.kind, changed | {"status": {"a": 1}, "spec": {}}, "status")
    assert (status["spec"], status["status"]) == ({"size": 1}, {"a": 1})
    applied = {
        "apiVersion": kcp.kind.api_version,
        "kind": "Thing",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"colour": "blue"},
    }
    result = await reached.apply(kcp.kind, applied, field_manager="test")
    assert result["spec"] == {"size": 1, "colour": "blue"}
    await reached.delete(kcp.kind, "x", "default")
    dying = await reached.get(kcp.kind, "x", "default")
    assert dying is not None
    assert "deletionTimestamp" in dying["metadata"]
    await reached.patch(kcp.kind, "x", "default", {"metadata": {"finalizers": []}})
    assert await reached.get(kcp.kind, "x", "default") is None


async def test_a_schema_cannot_be_changed_and_a_binding_cannot_be_redirected(kcp: Kcp) -> None:
    """Both are refused as invalid."""
    home = kcp.at(kcp.provider)
    [schema] = (await home.list(API_RESOURCE_SCHEMA)).items
    spec = schema["spec"] | {"scope": "Cluster"}
    with pytest.raises(RejectedError):
        await home.replace(API_RESOURCE_SCHEMA, schema | {"spec": spec})
    path, _ = await kcp.workspace()
    await kcp.bind(path)
    binding = await kcp.at(path).get(API_BINDING, "things")
    assert binding is not None
    other = {"reference": {"export": {"path": "root", "name": "other"}}}
    with pytest.raises(RejectedError):
        await kcp.at(path).replace(API_BINDING, binding | {"spec": binding["spec"] | other})


async def test_an_unbound_api_of_a_workspace_is_404_without_a_status_object(kcp: Kcp) -> None:
    """A client must survive a body that is plain text."""
    path, _ = await kcp.workspace()
    with pytest.raises(NotFoundError):
        await kcp.at(path).list(kcp.kind)


async def test_a_workspace_ends_after_its_objects(kcp: Kcp) -> None:
    """Objects get their deletion timestamp first, and a finalizer keeps everything."""
    path, cluster = await kcp.workspace()
    await kcp.bind(path)
    reached = await kcp.virtual(cluster)
    finalizers = {"finalizers": ["example.com/f"]}
    await make(reached, kcp.kind, "x", "default", metadata=finalizers, spec={})
    name = path.removeprefix("root:")
    await kcp.admin.delete(WORKSPACE, name)

    async def dying() -> bool:
        found = await reached.get(kcp.kind, "x", "default")
        return found is not None and "deletionTimestamp" in found["metadata"]

    await eventually(dying, what="a dying object", within=30)
    assert await kcp.admin.get(WORKSPACE, name) is not None
    await reached.patch(kcp.kind, "x", "default", {"metadata": {"finalizers": []}})

    async def gone() -> bool:
        return await kcp.admin.get(WORKSPACE, name) is None

    await eventually(gone, what="the end of the workspace", within=60)
