"""Programs that only tests of the delivery need are pinned by modules of their own."""

import pytest

from privatellm_local.build.programs import (
    HELM,
    HELM_3,
    HELM_3_VERSION,
    KRO,
    KRO_VERSION,
    REGISTRY,
    REGISTRY_VERSION,
    Program,
)


@pytest.mark.parametrize(
    ("program", "pinned"),
    [
        (HELM_3, f"helm.sh/helm/v3 {HELM_3_VERSION}"),
        (KRO, f"github.com/kubernetes-sigs/kro {KRO_VERSION}"),
        (REGISTRY, f"github.com/distribution/distribution/v3 {REGISTRY_VERSION}"),
    ],
    ids=["helm 3", "kro", "registry"],
)
def test_a_program_is_built_from_the_version_it_says(program: Program, pinned: str) -> None:
    """And its module names it as a tool."""
    module = (program.directory / "go.mod").read_text()

    assert pinned in module
    assert f"tool {program.package}" in module


def test_both_helms_are_kept_beside_each_other() -> None:
    """They have one name, and the cache tells them apart."""
    assert HELM.name == HELM_3.name
    assert HELM.digest("go1.27.3") != HELM_3.digest("go1.27.3")
