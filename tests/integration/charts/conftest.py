"""An environment without the platform, and a release of the chart in it.

With ``PRIVATE_LLM_TEST_CHART_STATE`` set to the state directory of an environment that was started with
``privatellm up --no-platform``, that one is used and left running.
"""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import chart_helm
import embedded
from chart_release import Release, environment_values
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for
from privatellm_local.build.programs import HELM


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Environment]:
    """A running environment with a cluster, an edge and a node, and nothing of ours installed."""
    if running := os.environ.get("PRIVATE_LLM_TEST_CHART_STATE"):
        yield embedded.Environment(Path(running))
        return
    started = embedded.start(tmp_path_factory.mktemp("env"), "--no-platform")
    yield started
    embedded.stop(started)


@pytest.fixture(scope="session")
def release(
    request: pytest.FixtureRequest,
    environment: embedded.Environment,
    kubeconfig: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Release:
    """A release that a test may install, change and remove; none is there yet.

    It is Helm 4's, unless tests are parametrized with another of the pinned Helms.
    """
    version = getattr(request, "param", HELM)
    helm = chart_helm.provide(tmp_path_factory.mktemp("helm"), kubeconfig, version)
    return Release(helm, environment_values(environment))


@pytest.fixture
async def clean(release: Release) -> AsyncIterator[Release]:
    """The release, which is not installed before and after the test."""
    await release.uninstall()
    yield release
    await release.uninstall()


@pytest.fixture
async def installed(clean: Release) -> Release:
    """The release, installed."""
    await clean.install()
    return clean


@pytest.fixture
async def other_customer(client: KubeClient) -> AsyncIterator[str]:
    """A customer's namespace that nobody serves yet."""
    name = await _namespace(client)
    yield name
    await client.delete(kinds.NAMESPACE, name)


async def _namespace(client: KubeClient) -> str:
    name = f"customer-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(kinds.NAMESPACE, manifest)
    return name


@pytest.fixture
async def customer(client: KubeClient, release: Release) -> AsyncIterator[str]:
    """A customer's namespace, onboarded by a binding to the role that the chart brings."""
    name = await _namespace(client)
    group = kinds.ROLE_BINDING.group
    binding = {
        "apiVersion": kinds.ROLE_BINDING.api_version,
        "kind": "RoleBinding",
        "metadata": {"name": "onboarded", "namespace": name},
        "roleRef": {
            "apiGroup": group,
            "kind": "ClusterRole",
            "name": f"private-llm-operator-tenant.{release.namespace}",
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "private-llm-operator",
                "namespace": release.namespace,
            }
        ],
    }
    await client.create(kinds.ROLE_BINDING, binding)
    yield name
    await client.delete(kinds.NAMESPACE, name)
    # While there is an operator that lets go of what is in it.
    await wait_for(client, kinds.NAMESPACE, name, None, lambda found: found is None)
