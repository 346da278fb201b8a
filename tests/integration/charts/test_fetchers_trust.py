"""A host of models behind the site's own certificate authority: fetchers trust it by `extraCA`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fetcher_source
from cache_world import add_model, order
from chart_release import Release, demo_model
from customer import until_condition, until_phase
from fetcher_certificates import make_authority
from fetcher_source import HttpSource
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]

CONFIG_MAP = "site-authorities"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The site's authority, and its host of models with its key."""
    return make_authority(tmp_path_factory.mktemp("ca"), "localhost")


@pytest.fixture
async def authorities(client: KubeClient, clean: Release, certificates: tuple[Path, Path]) -> str:
    """The ConfigMap with the site's authority, in the release's namespace."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": clean.namespace}}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": clean.namespace},
        "data": {"bundle.pem": certificates[0].read_text()},
    }
    for kind, manifest in ((kinds.NAMESPACE, namespace), (kinds.CONFIG_MAP, config_map)):
        await client.apply(kind, manifest, field_manager="tests")
    return CONFIG_MAP


@pytest.fixture
def source(certificates: tuple[Path, Path]) -> Iterator[HttpSource]:
    """The demo's model behind TLS."""
    weights = Path(demo_model()["spec"]["source"]["url"].removeprefix("file://"))
    with fetcher_source.running(
        HttpSource(weights.read_bytes()), certificate=certificates[1]
    ) as running:
        running.url = running.url.replace("127.0.0.1", "localhost")
        yield running


def site(release: Release, **groups: Any) -> Release:
    """Return the release for a site whose host of models has a private address."""
    server = {**release.values["server"], "allowPrivateSources": True}
    values = {**release.values, "server": server, **groups}
    return Release(release.helm, values, release.name, release.namespace)


def trusting(authorities: str) -> dict[str, Any]:
    """Return the values that name the site's authority."""
    return {"extraCA": {"configMapName": authorities, "key": "bundle.pem"}}


async def test_an_instance_fetches_as_soon_as_the_sites_authority_is_named(
    clean: Release, client: KubeClient, customer: str, authorities: str, source: HttpSource
) -> None:
    """Until then it says which certificate is not trusted, and what to do."""
    await site(clean).install()
    model = await add_model(client, source.url, sha256=source.sha256)
    await order(client, customer, "chat", model)
    said = await until_condition(
        client, kinds.LLM_INSTANCE, customer, "chat", "ModelAvailable", "SourceUnreachable"
    )
    assert "not trusted" in said
    assert "extra certificates" in said
    assert source.requests == []

    await site(clean, **trusting(authorities)).upgrade()

    await until_phase(client, kinds.LLM_INSTANCE, customer, "chat", "Ready")
    assert source.requests != []
    await client.delete(kinds.LLM_MODEL, model)


async def test_the_platforms_own_fetch_trusts_it_too(
    clean: Release,
    client: KubeClient,
    customer: str,
    authorities: str,
    source: HttpSource,
    shared_files: Path,
) -> None:
    """It fills the nodes' directory once; the customer's pod fetches nothing."""
    kept = {"modelCache": {"mode": "hostPath", "directory": str(shared_files)}}
    await site(clean, **trusting(authorities), **kept).install()
    model = await add_model(client, source.url)
    await order(client, customer, "chat", model)

    await until_phase(client, kinds.LLM_INSTANCE, customer, "chat", "Ready")
    await until_condition(client, kinds.LLM_MODEL, None, model, "DigestKnown", "Recorded")
    assert len(source.requests) == 1
    await client.delete(kinds.LLM_MODEL, model)
