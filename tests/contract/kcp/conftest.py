"""Two bare API servers for the session, and a fresh provider with customers for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

import kcp_world
from kcp_clusters import Servers, servers
from privatellm.kube.kinds import NAMESPACE


@pytest.fixture(scope="session")
def api_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One API server behind the double and one as the service cluster."""
    with servers(tmp_path_factory.mktemp("kcp")) as found:
        yield found


@pytest.fixture
async def world(api_servers: Servers) -> AsyncIterator[kcp_world.World]:
    """A provider with an export and a kind, without an agent yet."""
    async with kcp_world.world(api_servers) as made:
        yield made


@pytest.fixture
async def agent_namespace(world: kcp_world.World) -> str:
    """The namespace of an agent that runs as a process: its Lease is there."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.agent_name}}
    await world.service.create(NAMESPACE, manifest)
    return world.agent_name
