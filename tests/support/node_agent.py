"""A host node of the tests' own, beside the environment's.

It has another name, another part of the pod range, and serves only Services that name it, so tests may
kill and stop it without harming the environment. Pods come to it by ``nodeName``.
"""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import node_program
from privatellm_local.node.config import ImageEntry, NodeConfig, Timings
from privatellm_local.node.services.service import PROXY_NAME_LABEL

SERVER = "test/server"
PYTHON = "test/python"
TIMINGS = Timings(
    restart_backoff=0.5, restart_backoff_limit=2, retry=0.5, volume_refresh=1, shutdown_grace=2
)


@dataclass(slots=True)
class HostNode:
    """One agent process and what it was configured with."""

    config: NodeConfig
    file: Path
    log: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the Node."""
        return self.config.node_name

    def start(self) -> None:
        """Start the agent."""
        with self.log.open("ab") as log:
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-m", "privatellm_local.node", "--config", self.file],
                    stderr=log,
                )
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the agent with a signal and return its exit code."""
        process = self.processes.pop()
        process.send_signal(number)
        return process.wait(timeout=20)

    def deployment(self, namespace: str, name: str, **spec: Any) -> dict[str, Any]:
        """Return a Deployment of the test server on this node."""
        labels = {"app": name}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": self._spec(server())},
                **spec,
            },
        }

    def service(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a Service in front of the Deployment of that name."""
        labels = {PROXY_NAME_LABEL: self.name}
        port = {"port": node_program.PORT, "targetPort": "http"}
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"selector": {"app": name}, "ports": [port]},
        }

    def storage_class(self) -> dict[str, Any]:
        """Return a StorageClass whose volumes are this node's."""
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": self.name},
            "provisioner": self.config.provisioner,
        }

    def pod(
        self, namespace: str, name: str, container: dict[str, Any], **spec: Any
    ) -> dict[str, Any]:
        """Return a Pod of this node, which the Service of that name finds."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
            "spec": {**self._spec(container), **spec},
        }

    def _spec(self, container: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeName": self.name,
            "terminationGracePeriodSeconds": 5,
            "containers": [container],
            # Bound by name, so the scheduler's taints do not matter; the node controller's would.
            "tolerations": [{"operator": "Exists"}],
        }


def server(**fields: Any) -> dict[str, Any]:
    """Return a container that runs the test server."""
    return {
        "name": "main",
        "image": SERVER,
        "ports": [{"name": "http", "containerPort": node_program.PORT}],
        "env": [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1},
        **fields,
    }


def python(code: str, **fields: Any) -> dict[str, Any]:
    """Return a container that runs a piece of Python."""
    return {"name": "main", "image": PYTHON, "command": ["python"], "args": [code], **fields}


def beside(environment_state: Path, directory: Path, name: str) -> HostNode:
    """Configure a node beside the one of a running environment.

    Args:
        environment_state: State directory of the environment.
        directory: Where the node keeps its things.
        name: Name of the node; also the proxy name of its Services.
    """
    base = NodeConfig.load(environment_state / "config" / "node.json")
    # The environment's own node hands out addresses from the other end of the range.
    pods = list(base.pod_cidr.subnets(new_prefix=24))[-1]
    config = base.model_copy(
        update={
            "node_name": name,
            "service_proxy_name": name,
            "provisioner": f"{name}/provisioner",
            "root_dir": directory / "root",
            "pod_cidr": pods,
            "kubelet_port": _free_port(),
            "host_path_roots": (directory / "shared",),
            "timings": TIMINGS,
            "images": (
                ImageEntry(image=SERVER, exec=(sys.executable, os.fspath(node_program.__file__))),
                ImageEntry(image=PYTHON, command=("python",), exec=(sys.executable, "-c")),
            ),
        }
    )
    file = directory / "node.json"
    file.write_text(config.model_dump_json(by_alias=True))
    return HostNode(config, file, directory / "agent.log")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
