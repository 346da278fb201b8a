"""What a release pushes to, and with what."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import chart_helm
from chart_helm import REPOSITORY, Helm
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import CHART_REGISTRY, REGISTRY
from release_registry import Registry, registry

HOST = REGISTRY.split("/", maxsplit=1)[0]


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The pinned Helm, without a cluster."""
    return chart_helm.provide(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry in the place of the public one."""
    with registry(tmp_path_factory.mktemp("outside")) as running:
        yield running


@pytest.fixture(scope="session")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """The registry of a disconnected site."""
    with registry(tmp_path_factory.mktemp("inside")) as running:
        yield running


@pytest.fixture(scope="session")
def pushed_charts(
    outside: Registry, helm: Helm, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The digest of every chart, pushed as the workflow does."""
    target = f"oci://{CHART_REGISTRY.replace(HOST, outside.host)}"
    packages: Path = tmp_path_factory.mktemp("packages")
    digests = {}
    for chart in packaged_charts(REPOSITORY):
        helm.run("package", str(REPOSITORY / "charts" / chart.name), "-d", str(packages))
        package = packages / f"{chart.name}-{chart.version}.tgz"
        helm.run("push", "--plain-http", str(package), target)
        place = CHART_REGISTRY.removeprefix(f"{HOST}/")
        digests[chart.name] = outside.digest(f"{place}/{chart.name}", chart.version)
    return digests
