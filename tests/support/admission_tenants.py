"""Users who administer a namespace, and what lies in it: the scene of every hijack."""

import secrets
from pathlib import Path
from typing import Any

import yaml

from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm.names import service_port_name, slug_of

Manifest = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"

ORDER = "ordered"
"""An LLMInstance that nothing was made for."""

REQUEST = "asked"
"""An APITokenRequest that names no instance there is, so no key is issued for it."""

INSTANCE = "prod"
"""An instance of which only the children are there."""

CHILD = f"{INSTANCE}-llama"
MODEL_POD = f"{CHILD}-7d4b9c6f5d-x2k8q"
SLUG = slug_of("6f1d0c1e-0000-4000-8000-000000000000")
CHILD_LABELS = {
    labels.NAME: labels.MODEL_SERVER,
    labels.INSTANCE: INSTANCE,
    labels.PART_OF: labels.PART_OF_US,
    labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
    labels.LLM_INSTANCE: INSTANCE,
}
"""The labels of a child, as the operator's builders give them (a contract test compares)."""

PORT = {"name": service_port_name(SLUG), "port": 8001, "targetPort": 8000}

FURTHER_RIGHTS = [
    # What Traefik's chart adds to the stock roles when it is told to aggregate its own.
    {"apiGroups": ["traefik.io"], "resources": ["*"], "verbs": ["*"]},
    # More than our own roles for customers will ever give.
    {"apiGroups": [kinds.GROUP], "resources": ["*"], "verbs": ["*"]},
    # What platforms give for debugging.
    {"apiGroups": [""], "resources": ["pods/ephemeralcontainers", "pods/resize"], "verbs": ["*"]},
]
"""Rights beyond stock ``edit`` and ``admin`` without which some attacks would end at RBAC."""


def metadata(namespace: str, name: str, **further: Any) -> Manifest:
    """Return an object's metadata."""
    return {"name": name, "namespace": namespace} | further


def pod_spec(**further: Any) -> Manifest:
    """Return a pod that no scheduler touches."""
    resources = {"requests": {"cpu": "10m"}}
    container = {"name": "main", "image": "registry.example/tenant:1", "resources": resources}
    return {"schedulerName": "nobody", "containers": [container]} | further


def workload(
    kind: kinds.Kind, namespace: str, name: str, marks: Manifest, *, pods: Manifest | None = None
) -> Manifest:
    """Return an idle Deployment or ReplicaSet with these labels.

    Args:
        kind: Which of the two.
        namespace: Its namespace.
        name: Its name.
        marks: Its labels.
        pods: Labels of its pods; the same when absent.
    """
    selected = {"tenant.example/app": name} | (marks if pods is None else pods)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": metadata(namespace, name, labels=marks),
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": pod_spec()},
        },
    }


def ingress(namespace: str, name: str, ingress_class: str | None, **annotations: str) -> Manifest:
    """Return an Ingress on a path that would win over an instance's."""
    backend = {"service": {"name": "thief", "port": {"number": 80}}}
    path = {"path": f"/llm/{SLUG}/v1", "pathType": "Prefix", "backend": backend}
    class_field = {"ingressClassName": ingress_class} if ingress_class else {}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(namespace, name, annotations=annotations),
        "spec": class_field | {"rules": [{"http": {"paths": [path]}}]},
    }


def service(namespace: str, name: str, marks: Manifest, *ports: Manifest) -> Manifest:
    """Return a Service in front of pods of that name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(namespace, name, labels=marks),
        "spec": {
            "selector": {"app": name},
            "ports": list(ports) or [{"name": "http", "port": 8000}],
        },
    }


def pod(namespace: str, name: str, marks: Manifest) -> Manifest:
    """Return a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(namespace, name, labels=marks),
        "spec": pod_spec(),
    }


def secret(namespace: str, name: str, marks: Manifest, kept_as: str = "Opaque") -> Manifest:
    """Return a Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(namespace, name, labels=marks),
        "type": kept_as,
        "stringData": {"OPENAI_API_KEY": "made-up"},
    }


def network_policy(namespace: str, name: str, selector: Manifest, **spec: Any) -> Manifest:
    """Return a NetworkPolicy; without ``ingress`` it only closes."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(namespace, name),
        "spec": {"podSelector": selector, "policyTypes": ["Ingress"]} | spec,
    }


def llm_instance(namespace: str) -> Manifest:
    """Return an instance of a model that does not exist, so that nothing is started for it."""
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": "LLMInstance",
        "metadata": metadata(namespace, ORDER),
        "spec": {"model": "no-such-model"},
    }


def token_request(namespace: str) -> Manifest:
    """Return a request for a key to an instance that does not exist."""
    return {
        "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
        "kind": "APITokenRequest",
        "metadata": metadata(namespace, REQUEST),
        "spec": {"instanceName": "no-such-instance"},
    }


async def furnish(client: KubeClient, namespace: str) -> None:
    """Put an instance's children into a namespace, and a few objects of the tenant's own.

    Args:
        client: An administrator's client.
        namespace: The tenant's namespace.
    """
    marked_policy = network_policy(namespace, CHILD, {"matchLabels": CHILD_LABELS})
    marked_policy["metadata"]["labels"] = CHILD_LABELS
    marked_ingress = ingress(namespace, CHILD, "traefik")
    marked_ingress["metadata"]["labels"] = CHILD_LABELS
    for kind, manifest in (
        (kinds.POD, pod(namespace, MODEL_POD, CHILD_LABELS)),
        (kinds.POD, pod(namespace, "my-llama-7d4b9c6f5d-x2k8q", {})),
        (kinds.SERVICE, service(namespace, CHILD, CHILD_LABELS, PORT)),
        (kinds.SERVICE, service(namespace, "web", {})),
        (kinds.DEPLOYMENT, workload(kinds.DEPLOYMENT, namespace, CHILD, CHILD_LABELS)),
        (kinds.DEPLOYMENT, workload(kinds.DEPLOYMENT, namespace, "web", {})),
        (kinds.REPLICA_SET, workload(kinds.REPLICA_SET, namespace, CHILD, CHILD_LABELS)),
        (kinds.SECRET, secret(namespace, f"{CHILD}-key", CHILD_LABELS)),
        (kinds.SECRET, secret(namespace, "web", {})),
        (kinds.NETWORK_POLICY, marked_policy),
        (kinds.INGRESS, marked_ingress),
        (kinds.INGRESS, ingress(namespace, "web", "of-somebody-else")),
        (kinds.LLM_INSTANCE, llm_instance(namespace)),
        (kinds.API_TOKEN_REQUEST, token_request(namespace)),
    ):
        await client.create(kind, manifest)


async def token_of(client: KubeClient, namespace: str, account: str) -> str:
    """Return a token of a service account, as the API server issues it."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = kinds.SERVICE_ACCOUNT.path(namespace, account, "token")
    issued = await client.request("POST", path, body=request)
    return str(issued["status"]["token"])


def kubeconfig_with(token: str, administrators: Path, directory: Path) -> Path:
    """Write a kubeconfig for the bearer of a token.

    Args:
        token: Who to be.
        administrators: The kubeconfig that the API server's address is taken from.
        directory: Where to write.
    """
    config = yaml.safe_load(administrators.read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    written = directory / f"{secrets.token_hex(4)}.kubeconfig"
    written.write_text(yaml.safe_dump(config))
    return written


async def grant_further_rights(client: KubeClient, namespace: str) -> None:
    """Create the Role of rights beyond the stock ones."""
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(namespace, "further-rights"),
        "rules": FURTHER_RIGHTS,
    }
    await client.create(kinds.ROLE, role)


async def create_tenant(client: KubeClient, namespace: str, role: str) -> None:
    """Create a service account named like its stock ClusterRole, which also has the further rights.

    Args:
        client: An administrator's client.
        namespace: The tenant's namespace.
        role: ``edit`` or ``admin``.
    """
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(namespace, role)}
    await client.create(kinds.SERVICE_ACCOUNT, account)
    await client.create(kinds.ROLE_BINDING, role_binding(namespace, "ClusterRole", role, account))
    further = role_binding(namespace, "Role", "further-rights", account)
    await client.create(kinds.ROLE_BINDING, further)


def role_binding(namespace: str, kind: str, role: str, account: Manifest) -> Manifest:
    """Return what gives a service account a role in a namespace.

    Args:
        namespace: Where the rights hold.
        kind: ``Role`` or ``ClusterRole``.
        role: Its name.
        account: The service account, which may live in another namespace.
    """
    owner = account["metadata"]
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(namespace, f"{owner['namespace']}-{owner['name']}-{role}"),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [
            {"kind": "ServiceAccount", "name": owner["name"], "namespace": owner["namespace"]}
        ],
    }
