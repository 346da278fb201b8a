"""Tenants who administer a namespace with an instance's children in it.

The scene is set once, because the attempts are dry runs and leave it as it was. With
``PRIVATE_LLM_TEST_KUBECONFIG`` set to the kubeconfig of a ``system:masters`` user these tests run on that
control plane instead of the embedded environment: an API server and a controller manager are enough,
because our parts are installed as objects and need not run.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

import admission_tenants
from admission_attempts import assert_refused_by, creating
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm_local.edge import definitions
from privatellm_local.platform.facts import OPERATOR, SYSTEM_NAMESPACE, PlatformFacts
from privatellm_local.platform.install import install_platform
from privatellm_local.platform.rbac import tenant_binding

ROLES = ("edit", "admin")
"""The stock ClusterRoles of people who administer a namespace."""

FACTS = PlatformFacts(
    public_host="llm.example",
    auth_address=IPv4Address("127.120.0.10"),
    ingress_class="traefik",
    entry_points=("web",),
    models=(),
)
"""As in the embedded environment, as far as the policies are concerned."""

PROBE = creating(
    "a marked Secret",
    kinds.SECRET,
    lambda ns: admission_tenants.secret(ns, "probe", admission_tenants.CHILD_LABELS),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A furnished namespace and the kubeconfig of a tenant of each role."""

    namespace: str
    tenants: Mapping[str, Path]


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The administrator's kubeconfig."""
    if bare := os.environ.get("PRIVATE_LLM_TEST_KUBECONFIG"):
        asyncio.run(_install(Path(bare)))
        return Path(bare)
    environment = request.getfixturevalue("environment")
    return Path(environment.kubeconfig)


@pytest.fixture(scope="session")
def stage(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Where everything is tried, once the policies are in force."""
    prepared = asyncio.run(_prepare(kubeconfig, tmp_path_factory.mktemp("tenants")))
    yield prepared
    asyncio.run(_clear(kubeconfig, prepared))


@pytest.fixture
def scene(stage: Stage) -> str:
    """The tenant's namespace."""
    return stage.namespace


@pytest.fixture(params=ROLES)
def role(request: pytest.FixtureRequest) -> str:
    """The stock ClusterRole that the tenant has in its namespace."""
    return str(request.param)


@pytest.fixture
async def tenant(stage: Stage, role: str) -> AsyncIterator[KubeClient]:
    """A user with that role."""
    async with await KubeClient.connect(stage.tenants[role]) as connected:
        yield connected


@pytest.fixture
async def operator(
    client: KubeClient, kubeconfig: Path, stage: Stage, tmp_path: Path
) -> AsyncIterator[KubeClient]:
    """The operator's own identity and rights."""
    token = await admission_tenants.token_of(client, SYSTEM_NAMESPACE, OPERATOR)
    config = admission_tenants.kubeconfig_with(token, kubeconfig, tmp_path)
    async with await KubeClient.connect(config) as connected:
        yield connected


async def _install(kubeconfig: Path) -> None:
    async with await KubeClient.connect(kubeconfig) as client:
        for crd in definitions.definitions():
            await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, crd, field_manager="test")
        await install_platform(client, FACTS, print)


async def _prepare(kubeconfig: Path, directory: Path) -> Stage:
    name = f"test-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    async with await KubeClient.connect(kubeconfig) as client:
        await client.create(kinds.NAMESPACE, manifest)
        await client.create(kinds.ROLE_BINDING, tenant_binding(name))
        await admission_tenants.furnish(client, name)
        await admission_tenants.grant_further_rights(client, name)
        tenants = {}
        for role in ROLES:
            await admission_tenants.create_tenant(client, name, role)
            token = await admission_tenants.token_of(client, name, role)
            tenants[role] = admission_tenants.kubeconfig_with(token, kubeconfig, directory)
    await _until_in_force(tenants[ROLES[0]], name)
    return Stage(name, tenants)


async def _until_in_force(tenant: Path, namespace: str) -> None:
    async with await KubeClient.connect(tenant) as client:

        async def in_force() -> bool:
            await assert_refused_by("children", PROBE, client, namespace)
            return True

        await eventually(in_force, what="the admission policies in force")


async def _clear(kubeconfig: Path, stage: Stage) -> None:
    async with await KubeClient.connect(kubeconfig) as client:
        await client.delete(kinds.NAMESPACE, stage.namespace)
