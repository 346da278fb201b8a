"""The rights that the how-to page asks for are enough: the agent runs with exactly those."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from eventually import eventually
from kcp_clusters import Servers
from kcp_world import SECRET, World
from privatellm.kube import KubeClient
from privatellm.kube.credentials import load_credentials
from privatellm.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, SERVICE_ACCOUNT

pytestmark = pytest.mark.deep

PAGE = Path(__file__).parents[3] / "docs/how-to/sync-agent.md"


def documented_role(world: World) -> dict[str, Any]:
    """Return the page's ClusterRole for the service cluster, for the test's kind."""
    section = PAGE.read_text().split("## 2. ")[1].split("## 3. ")[0]
    block = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert block is not None
    role: dict[str, Any] = yaml.safe_load(block[1])
    role["metadata"]["name"] = world.agent_name
    for rule in role["rules"]:
        if rule["apiGroups"] == ["llm.privatellms.msp"]:
            rule |= {"apiGroups": [world.group], "resources": [world.kind.plural]}
    return role


async def limited(world: World, servers: Servers) -> KubeClient:
    """Return a client of a service account that has the documented rights and no others."""
    name = world.agent_name
    role = documented_role(world)
    await world.service.create(CLUSTER_ROLE, role)
    account = {"name": name, "namespace": "default"}
    await world.service.create(
        SERVICE_ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    )
    binding = {
        "apiVersion": CLUSTER_ROLE_BINDING.api_version,
        "kind": CLUSTER_ROLE_BINDING.name,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount"} | account],
    }
    await world.service.create(CLUSTER_ROLE_BINDING, binding)
    body: dict[str, Any] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    }
    path = SERVICE_ACCOUNT.path("default", name, "token")
    token = (await world.service.request("POST", path, body=body))["status"]["token"]
    known = await load_credentials(servers.service)
    known.configuration.api_key = {"BearerToken": token}
    known.configuration.api_key_prefix = {"BearerToken": "Bearer"}
    known.kubeconfig = None  # Or the administrator's token would be read again.
    return KubeClient(known)


async def test_the_documented_rights_are_enough_for_a_whole_life(
    world: World, api_servers: Servers
) -> None:
    """An object with a Secret is created, changed and deleted."""
    related = {
        "identifier": "credentials",
        "origin": "service",
        "kind": "Secret",
        "cleanup": True,
        "watch": {"byOwner": {}},
        "object": {"reference": {"path": "status.secret"}},
    }
    await world.publish(related=[related])
    client = await limited(world, api_servers)
    async with client, world.agent(service=client):
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        metadata = copy["metadata"]
        owner = {
            "apiVersion": copy["apiVersion"],
            "kind": copy["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        secret = {"name": "s", "namespace": metadata["namespace"], "ownerReferences": [owner]}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": secret}
        await world.service.create(SECRET, manifest | {"stringData": {"key": "one"}})
        body = {"status": {"secret": "s"}}
        place = (metadata["name"], metadata["namespace"])
        await world.service.patch(world.kind, *place, body, subresource="status")
        await eventually(lambda: acme.client.get(SECRET, "s", "default"), what="the Secret")
        await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})

        async def followed() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(followed, what="the change")
        await acme.client.delete(world.kind, "x", "default")

        async def ended() -> bool:
            left = [
                await acme.client.get(world.kind, "x", "default"),
                await acme.client.get(SECRET, "s", "default"),
                *await world.copies(),
            ]
            return not any(left)

        await eventually(ended, what="the end of everything")
