"""An identity with exactly the rights that the token passes name, on a real API server."""

from pathlib import Path
from typing import Any

from bare_servers import write_kubeconfig
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import GROUP, Kind
from token_objects import Tenant

READ = ["get", "list", "watch"]
ACCOUNT = "operator"

PLATFORM_RULES = (
    (GROUP, ["llminstances"], READ),
    (GROUP, ["apitokenrequests"], [*READ, "patch"]),
    (GROUP, ["apitokenrequests/status"], ["update"]),
    ("events.k8s.io", ["events"], ["create"]),
)
"""In all of the cluster."""

VERIFIER_RULES = (("", ["secrets"], [*READ, "create", "delete"]),)
"""In the token namespace."""

TENANT_RULES = (("", ["secrets"], [*READ, "create", "patch"]),)
"""In a namespace that was onboarded."""

Rules = tuple[tuple[str, list[str], list[str]], ...]


async def operator_kubeconfig(tenant: Tenant, directory: Path, server: str) -> Path:
    """Create the operator's identity and return its kubeconfig; no namespace is onboarded yet."""
    client, home = tenant.client, tenant.token_namespace
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named(ACCOUNT, home)}
    await client.create(kinds.SERVICE_ACCOUNT, account)
    await _grant(client, home, PLATFORM_RULES, kinds.CLUSTER_ROLE, home)
    await _grant(client, home, VERIFIER_RULES, kinds.ROLE, home)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = kinds.SERVICE_ACCOUNT.path(home, ACCOUNT, "token")
    answer = await client.request("POST", path, body=asked)
    return write_kubeconfig(directory / "operator", server, answer["status"]["token"])


async def onboard(tenant: Tenant) -> None:
    """Give the operator the right to Secrets in the customer's namespace."""
    await _grant(tenant.client, tenant.namespace, TENANT_RULES, kinds.ROLE, tenant.token_namespace)


async def _grant(
    client: KubeClient, namespace: str, rules: Rules, role_kind: Kind, home: str
) -> None:
    """Create a role and bind it to the operator; a cluster role is named like the namespace."""
    cluster = role_kind is kinds.CLUSTER_ROLE
    metadata = {"name": namespace} if cluster else _named("operator-rights", namespace)
    binding_kind = kinds.CLUSTER_ROLE_BINDING if cluster else kinds.ROLE_BINDING
    api_version = role_kind.api_version
    role: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": role_kind.name,
        "metadata": metadata,
        "rules": [{"apiGroups": [g], "resources": r, "verbs": v} for g, r, v in rules],
    }
    binding = {
        "apiVersion": api_version,
        "kind": binding_kind.name,
        "metadata": metadata,
        "roleRef": {
            "apiGroup": role_kind.group,
            "kind": role_kind.name,
            "name": metadata["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": home}],
    }
    await client.create(role_kind, role)
    await client.create(binding_kind, binding)


def _named(name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace}
