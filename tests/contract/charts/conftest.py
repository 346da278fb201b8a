"""Helm, and the chart rendered once with its defaults."""

import pytest

import chart_helm
from chart_helm import Helm, Manifest


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The pinned Helm, without a cluster."""
    return chart_helm.provide(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def defaults(helm: Helm) -> tuple[Manifest, ...]:
    """The chart's objects with nothing set."""
    return helm.template()
