"""A control plane without an operator, a fresh tenant for each test, and the operator's passes to run."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from privatellm.kube import KubeClient, kinds
from token_crash import FragileClient
from token_objects import Tenant
from token_operator import TokenOperator


@pytest.fixture
async def client(bare_kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client."""
    async with await KubeClient.connect(bare_kubeconfig) as connected:
        yield connected


@pytest.fixture
async def fragile(bare_kubeconfig: Path) -> AsyncIterator[FragileClient]:
    """The operator's client, which counts and can die."""
    async with await FragileClient.connect(bare_kubeconfig) as connected:
        yield connected


@pytest.fixture
async def tenant(client: KubeClient) -> AsyncIterator[Tenant]:
    """A customer with an empty namespace, on a platform with an empty token namespace."""
    suffix = secrets.token_hex(4)
    names = (f"tenant-{suffix}", f"tokens-{suffix}")
    for name in names:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(kinds.NAMESPACE, manifest)
    yield Tenant(client, *names)
    for name in names:
        await client.delete(kinds.NAMESPACE, name)


@pytest.fixture
def operator(fragile: FragileClient, tenant: Tenant) -> TokenOperator:
    """An operator that was started now."""
    return TokenOperator(fragile, tenant.token_namespace)
