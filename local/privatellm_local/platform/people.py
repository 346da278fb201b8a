"""What people may do by Kubernetes' own roles: editors order and revoke, viewers look.

The cluster adds these rules to ``admin``, ``edit`` and ``view`` by their labels, so whoever is bound to
one of those in a namespace can use the product there. The chart has the same roles; a test compares.
"""

from typing import Any

from privatellm.kube.kinds import GROUP

Manifest = dict[str, Any]

READ = ("get", "list", "watch")
WRITE = (*READ, "create", "update", "patch", "delete", "deletecollection")

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


def people() -> tuple[Manifest, ...]:
    """Return the roles that are added to Kubernetes' own."""
    return (
        _added("editors", ("admin", "edit"), WRITE, ("get", "update", "patch")),
        _added("viewers", ("view",), READ, ("get",)),
    )


def _added(
    name: str, to: tuple[str, ...], verbs: tuple[str, ...], scaling: tuple[str, ...]
) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": f"private-llm-{name}",
            "labels": {f"{_AGGREGATE}{role}": "true" for role in to},
        },
        "rules": [
            _rule(("llminstances", "apitokenrequests"), verbs),
            _rule(("llminstances/scale",), scaling),
        ],
    }


def _rule(resources: tuple[str, ...], verbs: tuple[str, ...]) -> Manifest:
    return {"apiGroups": [GROUP], "resources": list(resources), "verbs": list(verbs)}
