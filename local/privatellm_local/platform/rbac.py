"""Who may do what: the rights of the operator and of the ForwardAuth service.

The operator handles Secrets where a customer was onboarded (a RoleBinding to the tenant role) and in the
token namespace, never cluster-wide. The ForwardAuth service reads one namespace and nothing else.
"""

from typing import Any

from privatellm.kube.kinds import GROUP
from privatellm_local.platform.facts import (
    AUTHSERVER,
    OPERATOR,
    SYSTEM_NAMESPACE,
    TOKEN_NAMESPACE,
    PlatformFacts,
)

Manifest = dict[str, Any]

READ = ("get", "list", "watch")
OWN = (*READ, "create", "patch", "delete")
TENANT_ROLE = f"{OPERATOR}-tenant"
"""The ClusterRole to bind in a namespace in order to onboard it."""

_RBAC = "rbac.authorization.k8s.io"


def rbac(facts: PlatformFacts) -> tuple[Manifest, ...]:
    """Return service accounts, roles and bindings."""
    return (
        _service_account(OPERATOR),
        _service_account(AUTHSERVER),
        _cluster_role(OPERATOR, *_operator_rules()),
        _cluster_role(TENANT_ROLE, _rule("", ["secrets"], OWN)),
        _cluster_binding(OPERATOR),
        _role(OPERATOR, SYSTEM_NAMESPACE, *_operator_namespace_rules()),
        _binding(OPERATOR, SYSTEM_NAMESPACE, "Role", OPERATOR),
        _role(OPERATOR, TOKEN_NAMESPACE, _rule("", ["secrets"], (*READ, "create", "delete"))),
        _binding(OPERATOR, TOKEN_NAMESPACE, "Role", OPERATOR),
        _role(AUTHSERVER, TOKEN_NAMESPACE, _rule("", ["secrets"], READ)),
        _binding(AUTHSERVER, TOKEN_NAMESPACE, "Role", AUTHSERVER),
        *(tenant_binding(namespace) for namespace in facts.onboarded_namespaces),
    )


def tenant_binding(namespace: str) -> Manifest:
    """Return what onboards a namespace: the operator's right to handle Secrets in it."""
    return _binding(OPERATOR, namespace, "ClusterRole", TENANT_ROLE)


def _operator_rules() -> tuple[Manifest, ...]:
    customers = ["llminstances", "apitokenrequests"]
    return (
        _rule(GROUP, customers, (*READ, "patch", "update")),
        _rule(GROUP, [f"{kind}/status" for kind in customers], ("get", "patch", "update")),
        _rule(GROUP, [f"{kind}/finalizers" for kind in customers], ("update",)),
        _rule(GROUP, ["llmmodels"], (*READ, "create", "patch")),
        _rule(GROUP, ["llmmodels/status"], ("get", "patch", "update")),
        _rule("apps", ["deployments"], OWN),
        _rule("", ["services", "persistentvolumeclaims"], OWN),
        _rule("", ["pods", "namespaces"], READ),
        _rule("networking.k8s.io", ["ingresses", "networkpolicies"], OWN),
        _rule("policy", ["poddisruptionbudgets"], OWN),
        _rule("events.k8s.io", ["events"], ("create", "patch")),
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], READ),
    )


def _operator_namespace_rules() -> tuple[Manifest, ...]:
    return (
        _rule("traefik.io", ["middlewares"], OWN),
        _rule("batch", ["jobs"], OWN),
        _rule("coordination.k8s.io", ["leases"], ("get", "create", "update", "patch")),
    )


def _rule(group: str, resources: list[str], verbs: tuple[str, ...]) -> Manifest:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def _service_account(name: str) -> Manifest:
    metadata = {"name": name, "namespace": SYSTEM_NAMESPACE}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _cluster_role(name: str, *rules: Manifest) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": list(rules),
    }


def _role(name: str, namespace: str, *rules: Manifest) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": list(rules),
    }


def _cluster_binding(account: str) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": account},
        "roleRef": _role_reference("ClusterRole", account),
        "subjects": [_subject(account)],
    }


def _binding(account: str, namespace: str, role_kind: str, role: str) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": _role_reference(role_kind, role),
        "subjects": [_subject(account)],
    }


def _role_reference(kind: str, name: str) -> Manifest:
    return {"apiGroup": _RBAC, "kind": kind, "name": name}


def _subject(account: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": account, "namespace": SYSTEM_NAMESPACE}
