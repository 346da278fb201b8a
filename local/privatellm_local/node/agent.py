"""Wires the node together, runs it, and takes it down.

Every part follows the API server by itself and survives its absence. When the agent is told to stop, the
containers are ended first, within a bounded time, and nothing is reported about it: the next agent does.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from privatellm.kube import KubeClient
from privatellm_local.files import exclusive_lock, make_private_directory
from privatellm_local.node import leftovers
from privatellm_local.node.addresses import AddressPool
from privatellm_local.node.config import NodeConfig
from privatellm_local.node.errors import NodeStartError
from privatellm_local.node.kubelet_api import KubeletAPI
from privatellm_local.node.pods.launch import Launcher
from privatellm_local.node.pods.manager import PodManager
from privatellm_local.node.pods.worker import Tools
from privatellm_local.node.probes import Prober
from privatellm_local.node.registration import Registration
from privatellm_local.node.registry import PodRegistry
from privatellm_local.node.services.listeners import Listeners
from privatellm_local.node.services.manager import ServiceManager
from privatellm_local.node.services.service import Domain
from privatellm_local.node.storage import Provisioner
from privatellm_local.node.tokens import TokenStore

_log = logging.getLogger(__name__)


async def run(config: NodeConfig, stop: asyncio.Event) -> None:
    """Run the node until told to stop.

    Args:
        config: The node.
        stop: Set from outside to end the node.

    Raises:
        NodeStartError: when the node cannot work on this machine.
        StateError: when its root directory cannot be used.
    """
    async with (
        _root(config),
        await _connect(config) as client,
        _prober() as prober,
        _pods(config, client, prober) as (pods, registry),
        _log_server(KubeletAPI(client, config, pods)),
    ):
        tasks = [
            asyncio.create_task(part, name=name)
            for name, part in {
                "registration": Registration(client, config, _now).run(),
                "pods": pods.run(),
                "services": _services(config, client, registry).run(),
                "storage": _storage(config, client).run(),
            }.items()
        ]
        await _until_stopped(tasks, stop)


async def _connect(config: NodeConfig) -> KubeClient:
    try:
        return await KubeClient.connect(config.kubeconfig)
    except OSError as error:
        raise NodeStartError(
            f"The files that {config.kubeconfig} names cannot be used: {error}"
        ) from error


@asynccontextmanager
async def _root(config: NodeConfig) -> AsyncIterator[None]:
    """Own the root directory inside the block; two agents would end each other's containers."""
    make_private_directory(config.root_dir)
    with exclusive_lock(config.root_dir / "agent.lock", wait=False) as held:
        if not held:
            raise NodeStartError(
                f"Only one agent may use {config.root_dir}; another one does. Stop it first."
            )
        for pid in leftovers.sweep(config.root_dir):
            _log.info("process %d of an earlier agent ended", pid)
        yield


@asynccontextmanager
async def _prober() -> AsyncIterator[Prober]:
    prober = Prober.create()
    try:
        yield prober
    finally:
        await prober.close()


@asynccontextmanager
async def _pods(
    config: NodeConfig, client: KubeClient, prober: Prober
) -> AsyncIterator[tuple[PodManager, PodRegistry]]:
    """Provide the pods, and end every container at the end of the block."""
    registry = PodRegistry()
    tools = Tools(
        client=client,
        launcher=Launcher(config, client, TokenStore(client, _now)),
        prober=prober,
        registry=registry,
        addresses=AddressPool(config.pod_cidr),
        timings=config.timings,
        host_ip=str(config.kubelet_address),
        clock=_now,
    )
    manager = PodManager(config.node_name, config.root_dir / "pods", tools)
    try:
        yield manager, registry
    finally:
        await manager.stop(config.timings.shutdown_grace)


@asynccontextmanager
async def _log_server(api: KubeletAPI) -> AsyncIterator[None]:
    try:
        async with api.serving():
            yield
    except OSError as error:
        raise NodeStartError(f"Logs cannot be served: {error}") from error


def _services(config: NodeConfig, client: KubeClient, registry: PodRegistry) -> ServiceManager:
    listeners = Listeners(registry)
    domain = Domain(config.service_cidr, config.service_proxy_name)
    return ServiceManager(client, domain, listeners, config.timings.retry)


def _storage(config: NodeConfig, client: KubeClient) -> Provisioner:
    directory = config.root_dir / "volumes"
    return Provisioner(client, config.provisioner, directory, config.timings.retry)


async def _until_stopped(tasks: list[asyncio.Task[None]], stop: asyncio.Event) -> None:
    """Wait for the order to stop; a part that ends by itself has failed, and ends the node."""
    waiting = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {waiting}:
            task.result()
    finally:
        for task in (*tasks, waiting):
            task.cancel()
        await asyncio.gather(*tasks, waiting, return_exceptions=True)


def _now() -> datetime:
    return datetime.now(UTC)
