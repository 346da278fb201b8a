"""Every chart that is released is the same to both Helms that people run."""

from pathlib import Path

import pytest

import chart_helm
from chart_helm import REPOSITORY, Helm, Manifest
from privatellm_local.build.programs import HELM, HELM_3

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

CHARTS = tuple(path.parent for path in sorted(REPOSITORY.glob("charts/*/Chart.yaml")))


@pytest.fixture(scope="session")
def helms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Helm, Helm]:
    """Helm 4 and Helm 3, without a cluster."""
    home = tmp_path_factory.mktemp("helms")
    return (
        chart_helm.provide(home / "4", version=HELM),
        chart_helm.provide(home / "3", version=HELM_3),
    )


def test_they_are_what_they_are_called(helms: tuple[Helm, Helm]) -> None:
    """Otherwise the tests below would compare a program with itself."""
    assert [helm.run("version", "--short")[:2] for helm in helms] == ["v4", "v3"]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_neither_finds_a_fault(helms: tuple[Helm, Helm], chart: Path) -> None:
    """Not even in a strict lint."""
    for helm in helms:
        assert "0 chart(s) failed" in helm.run("lint", "--strict", str(chart))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_both_render_the_same_objects(helms: tuple[Helm, Helm], chart: Path) -> None:
    """Whatever a template finds out about its Helm, it makes no difference."""
    four, three = (_sorted(helm.template(chart=chart)) for helm in helms)

    assert three == four


def _sorted(objects: tuple[Manifest, ...]) -> list[Manifest]:
    """Return objects in one order, without what is random: a platform key is made anew each time."""
    plain = [item for item in objects if item["kind"] != "Secret"]
    return sorted(
        plain, key=lambda item: (item["kind"], item["metadata"]["name"], str(item["metadata"]))
    )
