"""Helm finds no fault with the chart, its presets and its schema."""

from importlib.metadata import version

import pytest
import yaml

import chart_helm
from chart_helm import CHART, NAMESPACE, Helm, HelmError

PRESETS = sorted((CHART / "presets").glob("*.yaml"))


def test_the_chart_passes_a_strict_lint(helm: Helm) -> None:
    """With its defaults."""
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_a_preset_passes_a_strict_lint(helm: Helm, preset: str) -> None:
    """And its values exist."""
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART), "-f", str(preset))


def test_on_openshift_no_user_is_fixed(helm: Helm) -> None:
    """The platform's security context constraint chooses one."""
    preset = yaml.safe_load((CHART / "presets" / "openshift.yaml").read_text())
    for deployment in chart_helm.of_kind(helm.template(preset), "Deployment"):
        context = deployment["spec"]["template"]["spec"]["securityContext"]
        assert context == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"publicHost": "x"}, "publicHost"),
        ({"traefik": {"ingressClass": {"isDefaultClass": True}}}, "isDefaultClass"),
        ({"onboardedNamespaces": None}, "onboardedNamespaces"),
        ({"operator": {"replicas": "two"}}, "replicas"),
        ({"admissionPolicies": {"breakGlassGroups": []}}, "breakGlassGroups"),
    ],
    ids=str,
)
def test_helm_refuses_what_the_schema_forbids(
    helm: Helm, values: dict[str, object], said: str
) -> None:
    """And names the value."""
    with pytest.raises(HelmError, match=said):
        helm.template(values)


def test_keys_do_not_live_in_the_releases_namespace(helm: Helm) -> None:
    """Nobody but the operator writes Secrets where they live, not even Helm."""
    with pytest.raises(HelmError, match="must be a namespace of its own"):
        helm.template({"tokens": {"namespace": NAMESPACE}})


def test_an_umbrella_chart_may_have_globals_of_its_own(helm: Helm) -> None:
    """Helm hands every chart all globals."""
    assert helm.template({"global": {"somebodyElses": {"a": 1}}})


def test_helm_packages_the_chart(helm: Helm) -> None:
    """Under the version that it says."""
    directory = helm.home / "packages"

    helm.run("package", str(CHART), "--destination", str(directory))

    assert [path.name for path in directory.iterdir()] == [
        f"private-llm-operator-{version('private-llm')}.tgz"
    ]
