"""The chart and the manifests that bring the component into a cluster."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart_helm import REPOSITORY, Helm, HelmError, Manifest, objects_in, one
from chart_release import kubectl

CHART = REPOSITORY / "charts" / "private-llm-operator-ocm"
BOOTSTRAP = REPOSITORY / "ocm" / "bootstrap.yaml"
NAMESPACE = "private-llm-delivery"
HELMS_OWN = ("app.kubernetes.io/", "helm.sh/")
"""Labels that a chart puts on its objects, by how they begin."""


@pytest.fixture(scope="session")
def render(helm: Helm) -> Callable[..., tuple[Manifest, ...]]:
    """Render the chart in the namespace that the manifests use."""

    def rendered(**values: Any) -> tuple[Manifest, ...]:
        return helm.template(values, chart=CHART, namespace=NAMESPACE)

    return rendered


def without_helms_labels(manifest: Manifest) -> Manifest:
    """Return an object without the labels that only a release has."""
    metadata = dict(manifest["metadata"])
    labels = metadata.pop("labels", {})
    kept = {name: value for name, value in labels.items() if not name.startswith(HELMS_OWN)}
    return manifest | {"metadata": metadata | ({"labels": kept} if kept else {})}


def identity(manifest: Manifest) -> tuple[str, str]:
    """Return kind and name."""
    return manifest["kind"], manifest["metadata"]["name"]


def test_the_manifests_are_the_charts_defaults(render: Callable[..., tuple[Manifest, ...]]) -> None:
    """And the namespace that Helm would make."""
    namespace, *written = objects_in(BOOTSTRAP.read_text())

    assert identity(namespace) == ("Namespace", NAMESPACE)
    rendered = [without_helms_labels(item) for item in render()]
    assert sorted(written, key=identity) == sorted(rendered, key=identity)


def test_the_chart_passes_a_strict_lint(helm: Helm) -> None:
    """With its defaults."""
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART))


def test_the_graph_finds_the_component_that_the_chart_makes(
    render: Callable[..., tuple[Manifest, ...]],
) -> None:
    """By the default of an installation's `component`."""
    graph = yaml.safe_load((REPOSITORY / "ocm" / "rgd.yaml").read_text())

    default = graph["spec"]["schema"]["spec"]["component"]

    one(render(), "Component", "private-llm")
    assert 'default="private-llm"' in default


def test_the_signature_is_checked_unless_somebody_says_otherwise(
    render: Callable[..., tuple[Manifest, ...]],
) -> None:
    """The key's place in the Secret is the signature's name, where the controllers look for it."""
    checked = one(render(), "Component", "private-llm")["spec"]["verify"]
    unchecked = one(render(verify={"enabled": False}), "Component", "private-llm")["spec"]

    assert checked == [
        {"signature": "private-llm", "secretRef": {"name": "private-llm-signing-key"}}
    ]
    assert "verify" not in unchecked


def test_credentials_are_given_to_the_repository_alone(
    render: Callable[..., tuple[Manifest, ...]],
) -> None:
    """What is read from it inherits them."""
    objects = render(
        repository={"credentialsSecret": "registry", "baseUrl": "http://mirror:5000/x"}
    )

    repository = one(objects, "Repository", "private-llm")["spec"]
    assert repository["ocmConfig"] == [
        {"kind": "Secret", "name": "registry", "policy": "Propagate"}
    ]
    assert repository["repositorySpec"]["baseUrl"] == "http://mirror:5000/x"
    others = [item for item in objects if item["kind"] in {"Component", "Resource", "Deployer"}]
    assert not [item for item in others if "ocmConfig" in item["spec"]]


def test_rights_can_be_left_to_others(render: Callable[..., tuple[Manifest, ...]]) -> None:
    """Who runs kro unrestricted, or gives the controllers their rights elsewhere, wants none of ours."""
    without = render(rights={"ocmController": {"enabled": False}, "kro": {"enabled": False}})

    assert {item["kind"] for item in without} == {"Repository", "Component", "Resource", "Deployer"}


def test_rights_name_what_they_are_for(render: Callable[..., tuple[Manifest, ...]]) -> None:
    """No wildcard, and no Secret."""
    for role in render():
        for rule in role.get("rules", ()):
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
            assert "secrets" not in rule["resources"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"component": {"name": "x"}}, "name"),
        ({"component": {"interval": "ten minutes"}}, "interval"),
        ({"repository": {"baseUrl": ""}}, "baseUrl"),
        ({"verify": {"secretName": "Upper Case"}}, "secretName"),
    ],
    ids=str,
)
def test_helm_refuses_what_the_schema_forbids(
    render: Callable[..., tuple[Manifest, ...]], values: dict[str, Any], said: str
) -> None:
    """And names the value."""
    with pytest.raises(HelmError, match=said):
        render(**values)


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "values",
    [{}, {"repository": {"credentialsSecret": "registry"}, "component": {"semver": ">=0.1.0 <1"}}],
    ids=["defaults", "everything"],
)
async def test_the_api_server_accepts_every_object(
    helm: Helm, kubeconfig: Path, values: dict[str, Any]
) -> None:
    """Unknown fields of the controllers' kinds are errors."""
    objects = helm.template(values, chart=CHART, namespace="default")

    answer = await _dry_run(kubeconfig, objects)

    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == len(objects)


@pytest.mark.deep
@pytest.mark.timeout(300)
async def test_a_misspelt_field_would_be_noticed(helm: Helm, kubeconfig: Path) -> None:
    """So the test above means something."""
    component = one(helm.template(chart=CHART, namespace="default"), "Component", "private-llm")
    component["spec"]["verfiy"] = component["spec"].pop("verify")

    answer = await _dry_run(kubeconfig, (component,))

    assert "verfiy" in answer.stderr


async def _dry_run(
    kubeconfig: Path, objects: tuple[Manifest, ...]
) -> subprocess.CompletedProcess[str]:
    arguments = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
    return await kubectl(kubeconfig, *arguments, objects=objects)
