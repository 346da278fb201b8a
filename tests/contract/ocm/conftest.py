"""The real kro on a bare control plane, with the definition of an installation accepted."""

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import chart_helm
import ocm_kro
from chart_helm import REPOSITORY, Helm
from privatellm.kube import KubeClient, kinds
from token_control_plane import control_plane


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The pinned Helm, without a cluster."""
    return chart_helm.provide(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Path]:
    """The administrator of a control plane on which kro runs, with the rights that our chart gives it."""
    directory = tmp_path_factory.mktemp("kro")
    objects = helm.template(chart=REPOSITORY / "charts" / "private-llm-operator-ocm")
    (role,) = [o for o in objects if ocm_kro.AGGREGATED in o["metadata"]["labels"]]
    with control_plane(directory) as kubeconfig, ocm_kro.kro(directory, kubeconfig, role["rules"]):
        yield kubeconfig


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client."""
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest.fixture
async def graph(client: KubeClient) -> str:
    """The name of our ResourceGraphDefinition, which kro has accepted."""
    return await ocm_kro.accepted(client, ocm_kro.our_graph())


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    """A namespace as the bootstrap makes it."""
    name = f"delivery-{secrets.token_hex(4)}"
    await client.create(
        kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    yield name
    await client.delete(kinds.NAMESPACE, name)
