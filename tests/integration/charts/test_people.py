"""What namespace admins, editors and viewers may do once the chart is installed."""

import json
import re
from pathlib import Path

import pytest
import yaml

from chart_helm import REPOSITORY, Manifest
from chart_release import Release, kubectl
from customer import instance, token_request
from eventually import eventually
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(300)]


async def bind(client: KubeClient, namespace: str, role: str) -> str:
    """Give a new user one of Kubernetes' own roles in a namespace and return the user's name."""
    group = kinds.ROLE_BINDING.group
    user = f"{role}-of-{namespace}"
    binding = {
        "apiVersion": kinds.ROLE_BINDING.api_version,
        "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    await client.create(kinds.ROLE_BINDING, binding)
    return user


async def may(kubeconfig: Path, user: str, namespace: str, verb: str, resource: str) -> bool:
    """Ask the API server; what follows a slash is a subresource."""
    kind, _, subresource = resource.partition("/")
    asked = ("auth", "can-i", verb, kind, f"--subresource={subresource}", "-n", namespace)
    return (await kubectl(kubeconfig, *asked, "--as", user)).stdout.strip() == "yes"


@pytest.mark.parametrize(
    ("role", "writes"), [("admin", True), ("edit", True), ("view", False)], ids=str
)
async def test_the_clusters_own_roles_know_our_kinds(
    installed: Release, client: KubeClient, kubeconfig: Path, customer: str, role: str, writes: bool
) -> None:
    """Editors order and scale, viewers look, and nobody gets at models or a status."""
    user = await bind(client, customer, role)

    async def aggregated() -> bool:
        return await may(kubeconfig, user, customer, "list", "llminstances")

    await eventually(aggregated, within=30, what="the aggregated roles")
    for kind in ("llminstances", "apitokenrequests"):
        for verb in ("get", "watch"):
            assert await may(kubeconfig, user, customer, verb, kind)
        for verb in ("create", "patch", "delete"):
            assert await may(kubeconfig, user, customer, verb, kind) is writes
        assert not await may(kubeconfig, user, customer, "update", f"{kind}/status")
    assert await may(kubeconfig, user, customer, "patch", "llminstances/scale") is writes
    assert not await may(kubeconfig, user, "default", "get", "llminstances")
    assert not await may(kubeconfig, user, customer, "create", "llmmodels")


def documented_quota(namespace: str) -> Manifest:
    """Return the quota of the how-to, for another namespace and for one object of each kind."""
    page = (REPOSITORY / "docs/how-to/helm-install.md").read_text()
    (quota,) = (
        found
        for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
        for found in yaml.safe_load_all(block)
        if found.get("kind") == "ResourceQuota"
    )
    quota["metadata"]["namespace"] = namespace
    quota["spec"]["hard"] = dict.fromkeys(quota["spec"]["hard"], "1")
    return dict(quota)


async def test_a_quota_bounds_the_number_of_orders(
    installed: Release, client: KubeClient, kubeconfig: Path, customer: str
) -> None:
    """Of instances and of keys, as the how-to shows it."""
    quota = documented_quota(customer)
    await kubectl(kubeconfig, "apply", "-f", "-", objects=[quota])

    async def counted() -> bool:
        asked = ("get", "quota", "private-llm", "-n", customer, "-o", "json")
        seen = json.loads((await kubectl(kubeconfig, *asked)).stdout).get("status", {})
        return bool(seen.get("used", {}).keys() == quota["spec"]["hard"].keys())

    await eventually(counted, within=60, what="the quota")
    await client.create(kinds.LLM_INSTANCE, instance(customer, "one", replicas=0))
    await client.create(kinds.API_TOKEN_REQUEST, token_request(customer, "one", "one"))

    with pytest.raises(KubernetesError, match="exceeded quota"):
        await client.create(kinds.LLM_INSTANCE, instance(customer, "two", replicas=0))
    with pytest.raises(KubernetesError, match="exceeded quota"):
        await client.create(kinds.API_TOKEN_REQUEST, token_request(customer, "two", "one"))
