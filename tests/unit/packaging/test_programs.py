"""Programs that only tests of the delivery need are pinned by modules of their own."""

from dataclasses import replace

import pytest

from privatellm_local.build.programs import (
    HELM,
    HELM_3,
    HELM_3_VERSION,
    KRO,
    KRO_VERSION,
    PROMETHEUS_VERSION,
    PROMTOOL,
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
        (PROMTOOL, f"github.com/prometheus/prometheus {PROMETHEUS_VERSION}"),
    ],
    ids=["helm 3", "kro", "registry", "promtool"],
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


def test_what_is_left_out_of_a_program_belongs_to_what_it_is() -> None:
    """Other build tags make another program; none leave the others as they were."""
    everything = replace(PROMTOOL, tags="")

    assert PROMTOOL.flags == (*everything.flags, "-tags=remove_all_sd")
    assert PROMTOOL.digest("go1.27.3") != everything.digest("go1.27.3")
