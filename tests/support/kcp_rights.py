"""An agent with exactly the rights that the how-to page asks for."""

import re
from pathlib import Path
from typing import Any

import yaml

from kcp_clusters import Servers
from kcp_world import World
from privatellm.kube import KubeClient
from privatellm.kube.credentials import load_credentials
from privatellm.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, SERVICE_ACCOUNT

PAGE = Path(__file__).parents[2] / "docs/how-to/sync-agent.md"


def documented_role(number: int = 1) -> dict[str, Any]:
    """Return a ClusterRole of the page's section about the service cluster.

    Args:
        number: 1 for what every agent needs, 2 for what one needs beside that to onboard namespaces.
    """
    section = PAGE.read_text().split("## 2. ")[1].split("## 3. ")[0]
    blocks = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", section, re.DOTALL))
    roles: list[dict[str, Any]] = [one for one in blocks if one.get("kind") == "ClusterRole"]
    return roles[number - 1]


async def limited(
    world: World, servers: Servers, further: list[dict[str, Any]] | None = None
) -> KubeClient:
    """Return a client of a service account that has the documented rights and no others.

    Args:
        world: Whose kind the rights are for.
        servers: Where the service cluster is.
        further: Rules beside those that every agent needs.
    """
    name = world.agent_name
    role = _role_for(world)
    role["rules"] += further or []
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


def _role_for(world: World) -> dict[str, Any]:
    role = documented_role()
    role["metadata"]["name"] = world.agent_name
    for rule in role["rules"]:
        if rule["apiGroups"] == ["llm.privatellms.msp"]:
            rule |= {"apiGroups": [world.group], "resources": [world.kind.plural]}
    return role
