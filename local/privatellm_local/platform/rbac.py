"""Who may do what: the rights of the operator and of the ForwardAuth service.

The operator handles Secrets where a customer was onboarded (a RoleBinding to the tenant role) and in the
token namespace, never cluster-wide. The ForwardAuth service reads one namespace and nothing else. The
operator's rights are the calls that its code makes, verb by verb; a test reads them from the source.
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
FOLLOW = ("list", "watch")
MAKE = (*FOLLOW, "create", "patch", "delete")
OWN = (*READ, "create", "patch", "delete")
TENANT_ROLE = f"{OPERATOR}-tenant"
"""The ClusterRole to bind in a namespace in order to onboard it."""

_RBAC = "rbac.authorization.k8s.io"


def rbac(facts: PlatformFacts) -> tuple[Manifest, ...]:
    """Return service accounts, roles and bindings."""
    return (
        _service_account(OPERATOR),
        _service_account(AUTHSERVER),
        _cluster_role(OPERATOR, *operator_rules()),
        _cluster_role(TENANT_ROLE, *tenant_rules()),
        _cluster_binding(OPERATOR),
        _role(OPERATOR, SYSTEM_NAMESPACE, *home_rules()),
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


def operator_rules() -> tuple[Manifest, ...]:
    """Return the operator's rights in all customers' namespaces and in what belongs to none."""
    return (
        _rule(GROUP, ["llminstances"], (*READ, "patch")),
        _rule(GROUP, ["llminstances/status"], ("patch",)),
        # Asked of whoever makes an object that holds up the end of its owner.
        _rule(GROUP, ["llminstances/finalizers"], ("update",)),
        _rule(GROUP, ["apitokenrequests"], (*FOLLOW, "patch")),
        _rule(GROUP, ["apitokenrequests/status"], ("update",)),
        _rule(GROUP, ["llmmodels"], (*FOLLOW, "create", "patch")),
        _rule(GROUP, ["llmmodels/status"], ("patch",)),
        _rule("apps", ["deployments"], OWN),
        _rule("", ["services", "persistentvolumeclaims"], OWN),
        _rule("", ["pods", "namespaces"], FOLLOW),
        _rule("networking.k8s.io", ["ingresses", "networkpolicies"], OWN),
        _rule("policy", ["poddisruptionbudgets"], OWN),
        _rule("events.k8s.io", ["events"], ("create",)),
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], FOLLOW),
    )


def home_rules() -> tuple[Manifest, ...]:
    """Return the operator's rights in its own namespace."""
    return (
        _rule("traefik.io", ["middlewares"], MAKE),
        _rule("batch", ["jobs"], (*FOLLOW, "create", "delete")),
        _rule("coordination.k8s.io", ["leases"], ("get", "create", "update")),
    )


def tenant_rules() -> tuple[Manifest, ...]:
    """Return the operator's rights in a namespace that was onboarded."""
    return (_rule("", ["secrets"], OWN),)


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
