"""Pods, facts and states for tests of the host node."""

from datetime import UTC, datetime, timedelta
from typing import Any

from privatellm_local.node.config import Capacity, NodeConfig, Timings
from privatellm_local.node.downward import PodFacts
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.pods.states import (
    ContainerState,
    PodState,
    Running,
    Terminated,
    TerminatedReason,
)
from privatellm_local.node.pods.status import Report

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
EARLIER = NOW - timedelta(seconds=10)
TIMINGS = Timings(restart_backoff=1, restart_backoff_limit=30)


def manifest(*containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a Pod as the API server sends it; ``metadata``, ``status`` and spec fields by keyword."""
    metadata = {
        "name": "web-1",
        "namespace": "shop",
        "uid": "uid-1",
        "resourceVersion": "1",
        "labels": {"app": "web"},
    } | fields.pop("metadata", {})
    status = fields.pop("status", {})
    spec = {"containers": list(containers) or [{"name": "web", "image": "web"}], **fields}
    return {"metadata": metadata, "spec": spec, "status": status}


def pod(*containers: dict[str, Any], **fields: Any) -> Pod:
    """Return a parsed Pod."""
    return Pod.parse(manifest(*containers, **fields))


def container(**fields: Any) -> Container:
    """Return a parsed container."""
    return Container.model_validate({"name": "web", "image": "web", **fields})


def facts(of: Pod | None = None) -> PodFacts:
    """Return the facts of a pod at a fixed address."""
    return PodFacts(of or pod(), "127.111.0.7", "127.0.0.1", Capacity(cpu="8", memory="16Gi"))


def ended(code: int, *, seconds_ago: float = 0) -> Terminated:
    """Return the end of a run."""
    reason = TerminatedReason.ERROR if code else TerminatedReason.COMPLETED
    finished_at = NOW - timedelta(seconds=seconds_ago)
    return Terminated(code, reason, finished_at, started_at=finished_at)


def running(*, ready: bool = True, **fields: Any) -> ContainerState:
    """Return a container that runs."""
    return ContainerState(Running(EARLIER), started=True, ready=ready, **fields)


def finished(code: int, *, crashes: int = 1, seconds_ago: float = 0) -> ContainerState:
    """Return a container that has ended."""
    return ContainerState(ended(code, seconds_ago=seconds_ago), crashes=crashes)


def state(terminating: bool = False, **containers: ContainerState) -> PodState:
    """Return a pod's state; containers by name."""
    return PodState(containers, terminating=terminating)


def report(of: Pod, its: PodState, address: str = "127.111.0.7") -> Report:
    """Return what a status is made of."""
    return Report(of, its, address, "127.0.0.1", EARLIER, TIMINGS)


def settings(**changes: Any) -> dict[str, Any]:
    """Return a node's configuration as its file holds it."""
    return {
        "kubeconfig": "/state/kubeconfig",
        "root_dir": "/state/node",
        "pod_cidr": "127.111.0.0/16",
        "service_cidr": "127.110.0.0/16",
        "kubelet_address": "127.0.0.1",
        "kubelet_port": 10250,
        "serving_cert": "/state/crt",
        "serving_key": "/state/key",
        "client_ca": "/state/ca",
        "api_server": "https://127.0.0.1:6443",
        "ca_file": "/state/ca",
        "images": [{"image": "x", "command": None, "exec": ["/bin/x"]}],
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi"},
    } | changes


def config(**changes: Any) -> NodeConfig:
    """Return a node's configuration."""
    return NodeConfig.model_validate(settings(**changes))
