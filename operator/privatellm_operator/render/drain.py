"""The container beside a model server that lets it finish before its pod ends (ADR 0023)."""

from privatellm.kube import Manifest
from privatellm_operator.render.key_secret import FILE
from privatellm_operator.render.security import container_security
from privatellm_operator.render.server import KEYS_DIRECTORY
from privatellm_operator.render.service import HTTP_PORT
from privatellm_operator.settings import ServerSettings

DRAIN = "drain"
DRAIN_PORT = 8001
DRAIN_PATH = "/drain"

SETTLE_SECONDS = 5
"""Time for the edge to learn that a pod goes away before we look at what its server still has."""

LEAVING_SECONDS = 2
"""What is left of the grace period for the server's own end."""


def pre_stop_hook() -> Manifest:
    """Return the hook that keeps the kubelet from ending the server while it has something in hand."""
    return {"httpGet": {"path": DRAIN_PATH, "port": DRAIN_PORT, "scheme": "HTTP"}}


def container(settings: ServerSettings) -> Manifest:
    """Return the container that answers the hook."""
    pod_ip = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    grace = settings.grace_period_seconds - LEAVING_SECONDS
    return {
        "name": DRAIN,
        "image": settings.fetcher_image,
        "command": ["privatellm-drain"],
        "args": [
            *("--host", "$(POD_IP)"),
            *("--server-port", str(HTTP_PORT)),
            *("--port", str(DRAIN_PORT)),
            *("--api-key-file", f"{KEYS_DIRECTORY}/{FILE}"),
            *("--settle-seconds", str(min(SETTLE_SECONDS, grace))),
            *("--grace-seconds", str(grace)),
        ],
        "env": [{"name": "POD_IP", "valueFrom": pod_ip}],
        "resources": {
            "requests": {"cpu": "5m", "memory": "24Mi"},
            "limits": {"memory": "64Mi"},
        },
        "volumeMounts": [{"name": "backend-key", "mountPath": KEYS_DIRECTORY, "readOnly": True}],
        "securityContext": container_security(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
