"""A control plane without an operator, Traefik's kinds, a fresh tenant, and the passes to run."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eventually import eventually
from operator_passes import MODEL, InstanceOperator, catalogue_entry
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm_local.edge.definitions import definitions
from token_crash import FragileClient


@pytest.fixture(scope="session")
def furnished_kubeconfig(bare_kubeconfig: Path) -> Path:
    """The administrator's kubeconfig of a cluster that knows Traefik's kinds and the tests' model."""
    asyncio.run(_furnish(bare_kubeconfig))
    return bare_kubeconfig


async def _furnish(kubeconfig: Path) -> None:
    async with await KubeClient.connect(kubeconfig) as client:
        for definition in definitions():
            await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, definition, field_manager="tests")
        await client.apply(kinds.LLM_MODEL, catalogue_entry(MODEL), field_manager="tests")

        async def served() -> bool:
            try:
                await client.list(kinds.MIDDLEWARE)
            except KubernetesError:
                return False
            return True

        await eventually(served, within=60, what="Traefik's kinds")


@pytest.fixture
async def client(furnished_kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client."""
    async with await KubeClient.connect(furnished_kubeconfig) as connected:
        yield connected


@pytest.fixture
async def fragile(bare_kubeconfig: Path) -> AsyncIterator[FragileClient]:
    """The operator's client, which counts and can die."""
    async with await FragileClient.connect(bare_kubeconfig) as connected:
        yield connected


@pytest.fixture
async def namespaces(client: KubeClient) -> AsyncIterator[tuple[str, str]]:
    """A customer's empty namespace, and the operator's own."""
    suffix = secrets.token_hex(4)
    names = (f"tenant-{suffix}", f"system-{suffix}")
    for name in names:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(kinds.NAMESPACE, manifest)
    yield names
    for name in names:
        await client.delete(kinds.NAMESPACE, name)


@pytest.fixture
def tenant(namespaces: tuple[str, str]) -> str:
    """The customer's namespace."""
    return namespaces[0]


@pytest.fixture
def system(namespaces: tuple[str, str]) -> str:
    """The operator's namespace."""
    return namespaces[1]


@pytest.fixture
async def operator(fragile: FragileClient, system: str) -> InstanceOperator:
    """An operator that was started now, with its middlewares in place."""
    started = InstanceOperator(fragile, system)
    await started.equip()
    fragile.forget()
    return started
