"""One embedded environment for all integration tests, and a fresh namespace for each.

With ``PRIVATE_LLM_TEST_STATE`` set to the state directory of a running environment that one is used and
left running, which makes a single test fast to repeat.
"""

import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import embedded
import leaks
from privatellm.kube import KubeClient, kinds
from privatellm_local.paths import cache_paths
from privatellm_local.platform.rbac import tenant_binding
from token_control_plane import control_plane


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Environment]:
    """A running environment with the demo's model in its catalogue; in the end it has told no secret."""
    if running := os.environ.get("PRIVATE_LLM_TEST_STATE"):
        borrowed = embedded.Environment(Path(running))
        yield borrowed
        _assert_discreet(borrowed)
        return
    started = embedded.start(tmp_path_factory.mktemp("env"))
    try:
        with leaks.kept_logs(started):
            yield started
        _assert_discreet(started)
    finally:
        embedded.stop(started)


def _assert_discreet(environment: embedded.Environment) -> None:
    """Check that no log, event, status or metric of the run holds a secret of it."""
    issued = leaks.issued_secrets(environment)
    assert leaks.leaks_in(leaks.public_texts(environment), issued) == []


@pytest.fixture(scope="session")
def kubeconfig(environment: embedded.Environment) -> Path:
    """The administrator's kubeconfig."""
    return environment.kubeconfig


@pytest.fixture
def shared_files() -> Iterator[Path]:
    """A directory of this machine whose files every pod of the environment may name."""
    models = cache_paths().models
    with tempfile.TemporaryDirectory(dir=models, prefix="test-") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def edge_url(environment: embedded.Environment) -> str:
    """The URL of the edge."""
    return environment.edge_url


@pytest.fixture(scope="session")
def bare_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The administrator's kubeconfig of a control plane that runs no operator."""
    with control_plane(tmp_path_factory.mktemp("control-plane")) as bare:
        yield bare


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """An administrator's client."""
    async with await KubeClient.connect(kubeconfig) as connected:
        yield connected


@pytest.fixture
async def namespace(client: KubeClient) -> AsyncIterator[str]:
    """A fresh namespace that is onboarded: the operator may handle Secrets in it."""
    name = f"test-{secrets.token_hex(4)}"
    await client.create(
        kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    await client.create(kinds.ROLE_BINDING, tenant_binding(name))
    yield name
    await client.delete(kinds.NAMESPACE, name)
