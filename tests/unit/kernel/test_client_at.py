from collections.abc import AsyncIterator

import pytest
from kubernetes.aio.client import Configuration

from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    """A client that has not asked anything yet."""
    configuration = Configuration(host="https://127.0.0.1:1/clusters/root")
    async with KubeClient(Credentials(None, configuration)) as made:
        yield made


async def test_a_client_at_another_url_differs_in_nothing_else(client: KubeClient) -> None:
    """Whatever a client gets one day, those made from it have as well."""
    other = client.at("https://127.0.0.1:1/clusters/a/")

    assert other.server == "https://127.0.0.1:1/clusters/a"
    assert client.server == "https://127.0.0.1:1/clusters/root"
    assert vars(other) | {"_base_url": None} == vars(client)


async def test_closing_what_was_lent_leaves_the_lender_open(client: KubeClient) -> None:
    """Thousands of workspaces share one pool of connections."""
    session = client._session

    await client.at("https://127.0.0.1:1/clusters/a").at("https://127.0.0.1:1/b").close()

    assert not session.closed
