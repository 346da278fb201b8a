"""The charts for kcp on real API servers: the agent applies its files, and the integration installs."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import chart_helm
import kcp_world
from chart_helm import REPOSITORY, Helm, Manifest
from eventually import eventually
from kcp_clusters import Servers, servers
from kcp_world import World, install
from pm_facts import CONTENT_CONFIGURATION, PROVIDER_METADATA, definitions
from privatellm.api import crds
from privatellm.kube import KubeClient
from privatellm.kube.kinds import CLUSTER_ROLE_BINDING, CUSTOM_RESOURCE_DEFINITION, Kind
from privatellm_local.kcp.definitions import control_definitions
from privatellm_local.kcp.kinds import API_EXPORT
from privatellm_local.packaging.pm_integration_values import PM_INTEGRATION
from privatellm_local.packaging.sync_agent_values import SYNC_AGENT
from privatellm_sync_agent.controllers.provided import ProvidedResources
from privatellm_sync_agent.projection.exports import Published, updated_export
from privatellm_sync_agent.published import spec as specs
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = [pytest.mark.deep, pytest.mark.timeout(300)]

EXPORT = "llm.privatellms.msp"
OURS = ("private-llm-llminstances", "private-llm-apitokenrequests")
INTEGRATION = REPOSITORY / PM_INTEGRATION.directory
REVIEW = Kind(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    namespaced=False,
)


@pytest.fixture(scope="module")
def api_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One API server behind the double and one as the service cluster."""
    with servers(tmp_path_factory.mktemp("kcp")) as found:
        yield found


@pytest.fixture
async def world(api_servers: Servers) -> AsyncIterator[World]:
    """A provider with an export, and a service cluster that knows PublishedResource alone."""
    async with kcp_world.world(api_servers) as made:
        yield made


@pytest.fixture
async def client(api_servers: Servers) -> AsyncIterator[KubeClient]:
    """An administrator's client for the service cluster."""
    async with await KubeClient.connect(api_servers.service) as connected:
        yield connected


def mounted(helm: Helm, directory: Path, values: dict[str, Any] | None = None) -> Path:
    """Write the chart's ConfigMap as the kubelet mounts it."""
    objects = helm.template(values, chart=REPOSITORY / SYNC_AGENT.directory)
    name = f"{SYNC_AGENT.name}-published-resources"
    for file, text in chart_helm.one(objects, "ConfigMap", name)["data"].items():
        (directory / file).write_text(text)
    return directory


async def condition(client: KubeClient, name: str) -> tuple[str, str]:
    """Return status and reason of what the agent says of a PublishedResource."""
    found = await client.get(PUBLISHED_RESOURCE, name) or {}
    conditions = (found.get("status") or {}).get("conditions") or [{"status": "", "reason": ""}]
    return conditions[0]["status"], conditions[0]["reason"]


async def test_an_agent_applies_its_files_and_waits_for_the_kinds(
    world: World, helm: Helm, tmp_path: Path
) -> None:
    """It may come before the operator: what cannot be published yet says so, and is when it can."""
    async with world.agent(provided=mounted(helm, tmp_path)):
        for name in OURS:

            async def waits(name: str = name) -> bool:
                return await condition(world.service, name) == ("False", "DefinitionMissing")

            await eventually(waits, what=f"{name}, refused for now")
        for crd in crds.all_crds():
            await install(world.service, crd)

        async def exported() -> bool:
            export = await world.provider.client.get(API_EXPORT, world.export) or {}
            resources = (export.get("spec") or {}).get("resources") or []
            return {one["name"] for one in resources} == {"llminstances", "apitokenrequests"}

        await eventually(exported, what="two resources in the export")
    for name in OURS:
        await world.service.delete(PUBLISHED_RESOURCE, name)
    for crd in crds.all_crds():
        await world.service.delete(CUSTOM_RESOURCE_DEFINITION, crd["metadata"]["name"])


async def test_a_settled_world_is_only_read(world: World, helm: Helm, tmp_path: Path) -> None:
    """And a change by hand is taken back, while labels of others stay."""
    provided = ProvidedResources(world.service, mounted(helm, tmp_path))
    name = "private-llm-llminstances"
    assert await provided.apply()
    before = await world.service.get(PUBLISHED_RESOURCE, name)
    assert before is not None

    assert await provided.apply()
    assert await world.service.get(PUBLISHED_RESOURCE, name) == before

    change = {"metadata": {"labels": {"theirs": "x"}}, "spec": {"naming": {"name": "changed"}}}
    await world.service.patch(PUBLISHED_RESOURCE, name, None, change)
    assert await provided.apply()

    after = await world.service.get(PUBLISHED_RESOURCE, name)
    assert after is not None
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == {"theirs": "x"}
    for published in OURS:
        await world.service.delete(PUBLISHED_RESOURCE, published)


async def test_a_missing_definition_is_no_end(client: KubeClient, tmp_path: Path) -> None:
    """Whoever manages definitions apart may be late; it is tried again."""
    name = f"{PUBLISHED_RESOURCE.plural}.{PUBLISHED_RESOURCE.group}"
    await client.delete(CUSTOM_RESOURCE_DEFINITION, name)

    async def gone() -> bool:
        return await client.get(CUSTOM_RESOURCE_DEFINITION, name) is None

    await eventually(gone, what="no definition")
    manifest = {
        "apiVersion": PUBLISHED_RESOURCE.api_version,
        "kind": PUBLISHED_RESOURCE.name,
        "metadata": {"name": "things"},
        "spec": {"resource": {"apiGroup": "example.com", "kind": "Thing"}},
    }
    write(tmp_path / "one.yaml", manifest)

    assert not await ProvidedResources(client, tmp_path).apply()


def write(path: Path, manifest: Manifest) -> None:
    """Write a file."""
    path.write_text(yaml.safe_dump(manifest))


@pytest.fixture
def connected(api_servers: Servers, tmp_path: Path) -> Helm:
    """Helm for the service cluster."""
    return chart_helm.provide(tmp_path, api_servers.service)


@pytest.fixture
async def workspace(connected: Helm, client: KubeClient) -> Helm:
    """Helm for what stands for a provider's workspace: kcp's kinds, the portal's kinds and RBAC."""
    for crd in (*control_definitions(), *definitions()):
        await install(client, crd)
    return connected


async def may_bind(client: KubeClient, user: str, groups: list[str], export: str) -> bool:
    """Ask the API server whether somebody may bind an export."""
    attributes = {"group": "apis.kcp.io", "resource": "apiexports", "verb": "bind", "name": export}
    review = {
        "apiVersion": REVIEW.api_version,
        "kind": REVIEW.name,
        "metadata": {},
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
    }
    answer = await client.create(REVIEW, review)
    return bool(answer["status"]["allowed"])


async def test_the_integration_installs_upgrades_and_goes(
    workspace: Helm, client: KubeClient
) -> None:
    """With a real Helm: the agent's work outlives an upgrade, and the export outlives the release."""
    where = ("pm", str(INTEGRATION), "--namespace", "default", "--wait", "--timeout", "60s")
    workspace.run("install", *where, values={"agent": {"users": ["llm-agent"]}})
    export = await client.get(API_EXPORT, EXPORT)
    assert export is not None
    filled = updated_export(export, _published(), "private-llm")
    await client.replace(API_EXPORT, filled)

    provider = {"displayName": 'A "new" name <b>🦙</b>'}
    workspace.run(
        "upgrade", *where, values={"provider": provider, "content": {"delivery": "inline"}}
    )

    after = await client.get(API_EXPORT, EXPORT)
    assert after is not None
    assert after["spec"] == filled["spec"]
    assert after["metadata"]["annotations"]["syncagent.kcp.io/agent-name"] == "private-llm"
    metadata = await client.get(PROVIDER_METADATA, EXPORT)
    assert metadata is not None
    assert metadata["spec"]["displayName"] == provider["displayName"]
    content = await client.get(CONTENT_CONFIGURATION, "llm-ui")
    assert content is not None
    assert content["spec"].keys() == {"inlineConfiguration"}
    # The upgrade did not name the agent's user any more, so its rights went.
    assert await client.get(CLUSTER_ROLE_BINDING, f"{EXPORT}-sync-agent") is None

    authenticated = ["system:authenticated"]
    assert await may_bind(client, "ada", authenticated, EXPORT)
    assert not await may_bind(client, "ada", authenticated, "another.export")
    assert not await may_bind(client, "system:anonymous", ["system:unauthenticated"], EXPORT)

    workspace.run("uninstall", "pm", "--namespace", "default", "--wait", "--timeout", "60s")
    assert await client.get(API_EXPORT, EXPORT) is not None
    assert await client.get(PROVIDER_METADATA, EXPORT) is None
    assert not await may_bind(client, "ada", authenticated, EXPORT)
    await client.delete(API_EXPORT, EXPORT)


def _published() -> tuple[Published, ...]:
    """Return what the agent would publish: one of our kinds is enough."""
    manifest = {
        "metadata": {"name": "one"},
        "spec": {"resource": {"apiGroup": EXPORT, "kind": "LLMInstance"}},
    }
    return (Published(specs.parse(manifest), f"v1.llminstances.{EXPORT}"),)
