"""What all pods of the platform have in common: marks, security, probes and scratch space."""

from typing import Any

from privatellm import labels
from privatellm_local.platform.facts import SYSTEM_NAMESPACE

Manifest = dict[str, Any]


def metadata(name: str) -> Manifest:
    """Return the metadata of an object of a part of the platform."""
    return {"name": name, "namespace": SYSTEM_NAMESPACE, "labels": marks(name)}


def marks(name: str) -> dict[str, str]:
    """Return the labels of a part's objects and pods."""
    return {labels.NAME: name, labels.PART_OF: labels.PART_OF_US}


def pod(name: str, container: Manifest, *volumes: Manifest) -> Manifest:
    """Return the spec of a part's pod, restricted and with scratch space."""
    return {
        "serviceAccountName": name,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [*volumes, {"name": "tmp", "emptyDir": {}}],
    }


def container(image: str, ports: dict[str, int], health_port: int, *mounts: Manifest) -> Manifest:
    """Return a part's only container, to which the caller adds what it is told.

    Args:
        image: Its image.
        ports: Port numbers by name.
        health_port: Where ``/readyz`` and ``/healthz`` are served.
        mounts: What it reads besides its scratch space.
    """
    return {
        "name": "main",
        "image": image,
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "readinessProbe": _probe("/readyz", health_port, period_seconds=1),
        "livenessProbe": _probe("/healthz", health_port, period_seconds=10),
        "resources": {"requests": {"cpu": "50m", "memory": "100Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            *mounts,
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a mount point in a container
        ],
    }


def from_pod(name: str, path: str) -> Manifest:
    """Return a variable that the pod's own fields fill."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(path: str, port: int, period_seconds: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": 6,
    }
