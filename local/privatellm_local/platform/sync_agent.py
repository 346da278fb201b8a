"""The sync agent as a pod of the platform: its kubeconfig of kcp, its rights, what it publishes.

Its rights are those that the guide names for our two kinds, and that of onboarding the namespaces that it
makes: it may bind the operator's tenant role there, and no other role.
"""

import json
from typing import Any

import yaml

from privatellm import labels
from privatellm.kube.kinds import GROUP
from privatellm_local.platform import pods
from privatellm_local.platform.facts import (
    OPERATOR,
    SYNC_AGENT,
    SYNC_AGENT_IMAGE,
    SYSTEM_NAMESPACE,
)
from privatellm_local.platform.rbac import READ, TENANT_ROLE
from privatellm_local.processes.specification import digest

Manifest = dict[str, Any]

AGENT_NAME = "private-llm"
"""Part of every mark; the chart's default, so that the chart can take over."""

HEALTH_PORT, METRICS_PORT = 8086, 8085
_KCP, _PUBLISHED = "/kcp", "/published-resources"
_RBAC = "rbac.authorization.k8s.io"


ONBOARDING = {
    "onboard.syncagent.kcp.io/operator": json.dumps(
        {"clusterRole": TENANT_ROLE, "serviceAccount": f"{SYSTEM_NAMESPACE}/{OPERATOR}"}
    )
}
"""Annotation by which the agent binds the operator's tenant role in each namespace that it makes."""


def sync_agent(
    export: str, kubeconfig: str, published: tuple[Manifest, ...]
) -> tuple[Manifest, ...]:
    """Return everything that the agent needs in the cluster, in the order in which it is applied.

    Args:
        export: Name of the APIExportEndpointSlice.
        kubeconfig: The agent's kubeconfig of kcp, whose server names the provider's workspace.
        published: The PublishedResources that it applies.
    """
    files = {f"{one['metadata']['name']}.yaml": _text(one) for one in published}
    return (
        _object("v1", "ServiceAccount"),
        *_rights(),
        _object("v1", "Secret", stringData={"kubeconfig": kubeconfig}),
        _object("v1", "ConfigMap", data=files),
        # The agent reads its kubeconfig once, so a new one makes a new pod.
        _deployment(export, digest(kubeconfig)),
    )


def _text(published: Manifest) -> str:
    metadata = published["metadata"]
    annotations = (metadata.get("annotations") or {}) | ONBOARDING
    return yaml.safe_dump(published | {"metadata": metadata | {"annotations": annotations}})


def _rights() -> tuple[Manifest, ...]:
    rules = [
        _rule("syncagent.kcp.io", ["publishedresources"], (*READ, "create", "patch")),
        _rule("syncagent.kcp.io", ["publishedresources/status"], ("patch",)),
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], READ),
        _rule("", ["namespaces"], ("get", "create")),
        _rule("", ["events"], ("create",)),
        _rule(GROUP, ["llminstances", "apitokenrequests"], (*READ, "create", "patch", "delete")),
        _rule("", ["secrets"], READ),
        _rule(_RBAC, ["rolebindings"], ("get", "create")),
        _rule(_RBAC, ["clusterroles"], ("bind",)) | {"resourceNames": [TENANT_ROLE]},
    ]
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": SYNC_AGENT}
    subject = {"kind": "ServiceAccount", "name": SYNC_AGENT, "namespace": SYSTEM_NAMESPACE}
    of_cluster = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": SYNC_AGENT}}
    return (
        of_cluster | {"kind": "ClusterRole", "rules": rules},
        of_cluster | {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
    )


def _rule(group: str, resources: list[str], verbs: tuple[str, ...]) -> Manifest:
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


def _deployment(export: str, revision: str) -> Manifest:
    annotations = {f"{GROUP}/kubeconfig": revision}
    template = {
        "metadata": {"labels": pods.marks(SYNC_AGENT), "annotations": annotations},
        "spec": _pod(export),
    }
    spec = {
        "replicas": 1,
        # There is no Lease to keep a new pod from writing beside the old one.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {labels.NAME: SYNC_AGENT}},
        "template": template,
    }
    return _object("apps/v1", "Deployment", spec=spec)


def _pod(export: str) -> Manifest:
    return pods.pod(
        SYNC_AGENT,
        _container(export),
        {"name": "kcp", "secret": {"secretName": SYNC_AGENT, "defaultMode": 0o440}},
        {"name": "published-resources", "configMap": {"name": SYNC_AGENT}},
    )


def _container(export: str) -> Manifest:
    common = pods.container(
        SYNC_AGENT_IMAGE,
        {"health": HEALTH_PORT, "metrics": METRICS_PORT},
        HEALTH_PORT,
        {"name": "kcp", "mountPath": _KCP, "readOnly": True},
        {"name": "published-resources", "mountPath": _PUBLISHED, "readOnly": True},
    )
    return common | {"args": _arguments(export), "env": [pods.from_pod("POD_IP", "status.podIP")]}


def _arguments(export: str) -> list[str]:
    return [
        f"--kcp-kubeconfig={_KCP}/kubeconfig",
        f"--namespace={SYSTEM_NAMESPACE}",
        f"--apiexportendpointslice-ref={export}",
        f"--agent-name={AGENT_NAME}",
        f"--published-resources-directory={_PUBLISHED}",
        # Every listener stays on the pod's own loopback address.
        f"--health-address=$(POD_IP):{HEALTH_PORT}",
        f"--metrics-address=$(POD_IP):{METRICS_PORT}",
    ]


def _object(version: str, kind: str, **body: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": pods.metadata(SYNC_AGENT)} | body
