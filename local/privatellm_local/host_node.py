"""How the host node runs: its configuration file, its component, and its rights in the cluster.

The node itself is :mod:`privatellm_local.node`; this module only tells it what an environment has.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from privatellm_local import machine
from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.controlplane import apiserver
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.platform.images import image_table
from privatellm_local.processes.specification import ComponentSpec, Probe, digest

NAME = "host-node"
NODE_NAME = "host"
ROLE = "private-llm:host-node"
PROVISIONER = "llm.privatellms.msp/host-node"

STOP_GRACE_SECONDS = 20.0
"""Pods get their own grace periods within this."""

LEAST_PROCESSORS = 4
"""Requests are promises of a cluster; a laptop with two processors still shall schedule every part."""

PODS = 250

READ = ["get", "list", "watch"]
WRITE = ["create", "update", "patch", "delete"]


def configuration_file(paths: StatePaths) -> Path:
    """Return where the node's configuration is."""
    return paths.config / "node.json"


def configuration(paths: StatePaths, cache: CachePaths, plan: AddressPlan) -> str:
    """Return the node's configuration file."""
    content = {
        "kubeconfig": str(paths.kubeconfig(inventory.NODE.name)),
        "node_name": NODE_NAME,
        "root_dir": str(paths.node),
        "pod_cidr": str(plan.pod_cidr),
        "service_cidr": str(plan.service_cidr),
        "kubelet_address": LOOPBACK,
        "kubelet_port": plan.kubelet,
        "serving_cert": str(store.certificate_file(paths, "kubelet")),
        "serving_key": str(store.key_file(paths, "kubelet")),
        "client_ca": str(store.certificate_file(paths, Authority.CLUSTER)),
        "api_server": plan.apiserver_url,
        "ca_file": str(store.certificate_file(paths, Authority.CLUSTER)),
        "images": list(image_table()),
        "capacity": {
            "cpu": str(max(LEAST_PROCESSORS, machine.processors())),
            "memory": f"{machine.total_memory() // machine.MEBIBYTE}Mi",
            "pods": str(PODS),
            # All of it, as a kubelet does: what is free now would change with every start.
            "ephemeral-storage": f"{shutil.disk_usage(paths.root).total // machine.MEBIBYTE}Mi",
        },
        "host_path_roots": [str(cache.models)],
        "provisioner": PROVISIONER,
    }
    return json.dumps(content, indent=2) + "\n"


def component(paths: StatePaths, cache: CachePaths, plan: AddressPlan) -> ComponentSpec:
    """Return how the host node runs; its configuration file must be written before."""
    client = "apiserver-kubelet-client"
    return ComponentSpec(
        name=NAME,
        argv=(
            sys.executable,
            "-P",
            "-m",
            "privatellm_local.node",
            "--config",
            str(configuration_file(paths)),
        ),
        after=(apiserver.NAME,),
        probe=Probe(
            url=f"https://{LOOPBACK}:{plan.kubelet}/healthz",
            ca_file=store.certificate_file(paths, Authority.CLUSTER),
            cert_file=store.certificate_file(paths, client),
            key_file=store.key_file(paths, client),
        ),
        address=f"https://{LOOPBACK}:{plan.kubelet}",
        stop_grace_seconds=STOP_GRACE_SECONDS,
        fingerprint=digest(configuration(paths, cache, plan)),
    )


def cluster_role() -> dict[str, Any]:
    """Return what the node may do: a kubelet's work, plus volumes and cluster IPs."""
    rules: list[tuple[str, list[str], list[str]]] = [
        ("", ["nodes", "nodes/status"], [*READ, *WRITE]),
        ("", ["pods", "pods/status"], [*READ, "update", "patch", "delete"]),
        ("", ["configmaps", "namespaces", "secrets", "serviceaccounts", "services"], READ),
        ("", ["serviceaccounts/token"], ["create"]),
        ("", ["persistentvolumes", "persistentvolumes/status"], [*READ, *WRITE]),
        ("", ["persistentvolumeclaims", "persistentvolumeclaims/status"], [*READ, *WRITE]),
        ("", ["events"], ["create", "patch", "update"]),
        ("events.k8s.io", ["events"], ["create", "patch", "update"]),
        ("coordination.k8s.io", ["leases"], [*READ, *WRITE]),
        ("storage.k8s.io", ["storageclasses"], READ),
        # Who asks for logs is decided by the API server.
        ("authentication.k8s.io", ["tokenreviews"], ["create"]),
        ("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": ROLE},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": verbs}
            for group, resources, verbs in rules
        ],
    }


def storage_class() -> dict[str, Any]:
    """Return the default storage class, whose volumes are directories of the node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": NODE_NAME,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }
