"""What must hold for the objects of every chart, whatever its values are."""

from collections.abc import Collection
from typing import Any

import chart_helm
from chart_helm import Manifest

CLUSTER_SCOPED = frozenset(
    {
        "Namespace",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleBinding",
        "IngressClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
)


def identity(manifest: Manifest) -> tuple[str, str, str]:
    """Return what an object is told from others by."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def check(objects: tuple[Manifest, ...], cluster_scoped: Collection[str] = CLUSTER_SCOPED) -> None:
    """Fail on objects that no cluster would take, or that are not what they seem.

    Args:
        objects: What was rendered.
        cluster_scoped: Kinds whose objects belong to no namespace.
    """
    assert len({identity(item) for item in objects}) == len(objects)
    for item in objects:
        assert {"apiVersion", "kind", "metadata"} <= item.keys()
        is_cluster_scoped = item["kind"] in cluster_scoped
        assert ("namespace" in item["metadata"]) is not is_cluster_scoped, identity(item)
        assert_texts(item["metadata"].get("labels") or {})
        assert_texts(item["metadata"].get("annotations") or {})
    for deployment in chart_helm.of_kind(objects, "Deployment"):
        check_pod(deployment)


def assert_texts(entries: dict[str, Any]) -> None:
    """Fail when YAML made something else of a text."""
    assert all(isinstance(value, str) for value in entries.values()), entries


def check_pod(deployment: Manifest) -> None:
    """Fail when a pod lost its hardening or a variable is no text."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    for item in container.get("env", ()):
        assert isinstance(item.get("value", ""), str | None), item
