"""Which rights are looked for. What the operator needs is read off the roles that are installed for it."""

from collections.abc import Iterator
from ipaddress import IPv4Address

from privatellm.kube import Manifest
from privatellm.kube.kinds import GROUP
from privatellm_cli.doctor.facts import Right
from privatellm_local.platform.facts import OPERATOR, PlatformFacts
from privatellm_local.platform.rbac import rbac

_CUSTOMER = (
    (GROUP, "llminstances", ("get", "list", "create", "patch", "delete")),
    (GROUP, "apitokenrequests", ("get", "list", "create", "patch", "delete")),
    (GROUP, "llminstances/scale", ("patch",)),
    ("", "secrets", ("get", "delete")),
    ("", "pods", ("list",)),
    ("", "pods/log", ("get",)),
    ("events.k8s.io", "events", ("list",)),
)

_SECRET_VERBS = ("get", "list", "watch", "create", "patch", "delete")
_NOTHING_PARTICULAR = PlatformFacts("", IPv4Address("127.0.0.1"), "", (), (), ())


def of_customer(namespace: str) -> tuple[Right, ...]:
    """Return what the commands of a customer use."""
    in_namespace = tuple(
        Right(verb, group, resource, namespace)
        for group, resource, verbs in _CUSTOMER
        for verb in verbs
    )
    return (Right("list", GROUP, "llmmodels"), *in_namespace)


def of_operator(system_namespace: str, token_namespace: str) -> tuple[Right, ...]:
    """Return what the operator needs outside of tenants' namespaces."""
    places = {"private-llm-system": system_namespace, "private-llm-tokens": token_namespace}
    roles = (m for m in rbac(_NOTHING_PARTICULAR) if m["metadata"]["name"] == OPERATOR)
    return tuple(
        right
        for role in roles
        if "rules" in role
        for right in _of_role(role, places.get(role["metadata"].get("namespace", ""), ""))
    )


def of_tenants(namespaces: tuple[str, ...]) -> tuple[Right, ...]:
    """Return what the operator needs in each onboarded namespace."""
    return tuple(Right(verb, "", "secrets", n) for n in namespaces for verb in _SECRET_VERBS)


def forbidden_to_authserver(token_namespace: str) -> tuple[Right, ...]:
    """Return what a taken-over authserver must not be able to do."""
    writing = ("create", "update", "patch", "delete")
    return (
        Right("list", "", "secrets"),
        *(Right(verb, "", "secrets", token_namespace) for verb in writing),
    )


def _of_role(role: Manifest, namespace: str) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield Right(verb, group, resource, namespace)
