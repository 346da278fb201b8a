"""One recorded route for all tests of a module: what they send must not change what the next one sees."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from edge_route import Route, own_chain, recorded_route
from privatellm.kube import KubeClient, kinds
from privatellm_local.platform.rbac import tenant_binding

MANY = 60_000
"""Requests a minute that no test comes near."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def edge_client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client for a whole module."""
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def edge_namespace(edge_client: KubeClient) -> AsyncIterator[str]:
    """An onboarded namespace for a whole module."""
    name = f"edge-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await edge_client.create(kinds.NAMESPACE, manifest)
    await edge_client.create(kinds.ROLE_BINDING, tenant_binding(name))
    yield name
    await edge_client.delete(kinds.NAMESPACE, name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_route(edge_client: KubeClient, edge_namespace: str) -> AsyncIterator[Route]:
    """The route that a module's tests share; they ask more of it than a key may."""
    async with (
        own_chain(edge_client, requests_per_minute=MANY) as chain,
        recorded_route(edge_client, edge_namespace, "attacked", chain=chain) as route,
    ):
        yield route


@pytest_asyncio.fixture(loop_scope="module")
async def route(shared_route: Route) -> AsyncIterator[Route]:
    """The shared route, with nothing recorded yet; afterwards it still serves an honest client."""
    shared_route.recorder.requests.clear()
    yield shared_route
    assert (await shared_route.say()).status == 200
