"""The Node object and its Lease: how the cluster learns that this machine is there and alive.

A new Node carries the taint ``node.kubernetes.io/not-ready`` from admission; the controller manager takes
it away when it sees Ready. Being silent for longer than the controller manager's grace period makes it
mark every pod unready, which the workers put right when they see it.
"""

import asyncio
import logging
import platform
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from privatellm.errors import AlreadyExistsError, KubernetesError, NotFoundError
from privatellm.kube import KubeClient, Manifest, PatchType
from privatellm.kube.kinds import LEASE, NODE
from privatellm_local.node.config import NodeConfig

_log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
"""How long a renewal counts; a kubelet's default."""

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


class Registration:
    """Keeps the Node and its Lease up to date."""

    def __init__(
        self, client: KubeClient, config: NodeConfig, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._config = config
        self._clock = clock
        self._since = clock()

    async def run(self) -> None:
        """Report until cancelled; each report stands alone, so one that fails delays no other."""
        timings = self._config.timings
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._report, timings.status_report))
            group.create_task(self._repeat(self._renew, timings.lease_renewal))

    async def _repeat(self, report: Callable[[], Any], period: float) -> None:
        while True:
            pause = period
            try:
                await report()
            except KubernetesError as error:
                _log.warning("the node cannot be reported: %s", error)
                pause = min(period, self._config.timings.retry)
            await asyncio.sleep(pause)

    async def _report(self) -> None:
        status = node_status(self._config, self._since, self._clock())
        try:
            await self._patch(status)
        except NotFoundError:
            await self._client.create(NODE, node(self._config))
            await self._patch(status)

    async def _patch(self, status: Manifest) -> None:
        await self._client.patch(
            NODE,
            self._config.node_name,
            None,
            {"status": status},
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )

    async def _renew(self) -> None:
        name = self._config.node_name
        spec = lease_spec(name, self._clock())
        try:
            await self._client.patch(LEASE, name, LEASE_NAMESPACE, {"spec": spec})
        except NotFoundError:
            await self._create_lease(name, spec)

    async def _create_lease(self, name: str, spec: Manifest) -> None:
        metadata = {"name": name, "namespace": LEASE_NAMESPACE}
        manifest = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": metadata,
            "spec": spec,
        }
        try:
            await self._client.create(LEASE, manifest)
        except AlreadyExistsError:
            _log.debug("the lease appeared meanwhile; the next renewal finds it")


def node(config: NodeConfig) -> Manifest:
    """Return the Node to create."""
    labels = {
        "kubernetes.io/hostname": config.node_name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        "llm.privatellms.msp/host-node": "true",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": config.node_name, "labels": labels},
        "spec": {},
    }


def node_status(config: NodeConfig, since: datetime, now: datetime) -> Manifest:
    """Return what the node says about itself.

    Args:
        config: The node.
        since: When the conditions took their present state.
        now: The time of the report.
    """
    amounts = config.capacity.model_dump(by_alias=True)
    return {
        "capacity": amounts,
        "allocatable": amounts,
        "addresses": [
            {"type": "InternalIP", "address": str(config.kubelet_address)},
            {"type": "Hostname", "address": config.node_name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": config.kubelet_port}},
        "conditions": _conditions(since, now),
        "nodeInfo": _node_info(),
    }


def lease_spec(node_name: str, now: datetime) -> Manifest:
    """Return a Lease that is renewed now."""
    return {
        "holderIdentity": node_name,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }


def _conditions(since: datetime, now: datetime) -> list[Manifest]:
    times = {
        "lastHeartbeatTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "HostNodeReady",
        "message": "The host node runs pods as processes of this machine.",
    }
    calm = [
        {"type": name, "status": "False", "reason": "NotMeasured", "message": "Not measured."}
        for name in _PRESSURES
    ]
    return [condition | times for condition in (ready, *calm)]


def _node_info() -> Manifest:
    uname = platform.uname()
    return {
        "machineID": "",
        "systemUUID": "",
        "bootID": _boot_id(),
        "kernelVersion": uname.release,
        "osImage": _distribution(),
        "containerRuntimeVersion": "process://1",
        "kubeletVersion": "privatellm-host-node",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": _architecture(),
    }


def _architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "Linux"  # A system without os-release files.


def _boot_id() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.is_file() else ""
