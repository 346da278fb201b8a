"""The OCM component holds everything that runs, so that a transfer of it is complete."""

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from privatellm_local.packaging.delivery import component
from privatellm_local.packaging.delivery.__main__ import write_all
from privatellm_local.packaging.delivery.charts import PackagedChart, packaged_charts
from privatellm_local.packaging.delivery.component import IMAGES, Release, constructor
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.files import CONSTRUCTOR, generated_files
from privatellm_local.packaging.delivery.versions import version_of

ROOT = Path(__file__).parents[3]
VERSION = version_of(ROOT)
CHARTS = packaged_charts(ROOT)
FILES = generated_files(ROOT)
DIGEST = f"sha256:{'a' * 64}"


def resources(release: Release | None = None) -> dict[str, dict[str, Any]]:
    """Return the component's resources by name."""
    (only,) = constructor(CHARTS, release or Release("0.1.0"))["components"]
    return {resource["name"]: resource for resource in only["resources"]}


def changed(name: str, values: dict[str, Any]) -> tuple[PackagedChart, ...]:
    """Return the charts, one of them with further values."""
    return tuple(
        replace(chart, values=chart.values | values) if chart.name == name else chart
        for chart in CHARTS
    )


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_generated_file_is_up_to_date(path: PurePosixPath) -> None:
    """Otherwise run `make crds`."""
    assert (ROOT / path).read_text() == FILES[path]


def test_every_chart_of_the_repository_is_in_the_component() -> None:
    """And so is the graph, and nothing else that is no image."""
    folders = {path.parent.name for path in ROOT.glob("charts/*/Chart.yaml")}
    there = resources()

    assert {name for name, r in there.items() if r["type"] == "helmChart"} == folders
    assert {name for name, r in there.items() if r["type"] == "blob"} == {"rgd"}
    assert "private-llm-operator-ocm" in folders


def test_every_image_that_a_chart_can_run_is_in_the_component() -> None:
    """Operator, authserver, agent, llama.cpp and Traefik."""
    there = resources()
    images = {
        name: r["access"]["imageReference"] for name, r in there.items() if "ociImage" in r["type"]
    }

    assert images == {
        "operator": f"ghcr.io/private-llm/operator:{VERSION}",
        "authserver": f"ghcr.io/private-llm/authserver:{VERSION}",
        "sync-agent": f"ghcr.io/private-llm/sync-agent:{VERSION}",
        "llama-server": "ghcr.io/ggml-org/llama.cpp:server",
        "traefik": "docker.io/library/traefik:v3.7.15",
    }


def test_a_new_image_of_a_chart_cannot_be_forgotten() -> None:
    """The message names the value."""
    further = {"sidecar": {"image": {"repository": "x/y", "tag": "1", "digest": ""}}}

    with pytest.raises(DeliveryError, match=r"private-llm-operator:sidecar\.image"):
        constructor(changed("private-llm-operator", further), Release("0.1.0"))


def test_an_image_that_no_chart_runs_is_not_delivered() -> None:
    """The message names it, too."""
    with pytest.raises(DeliveryError, match=r"too many with \['private-llm-sync-agent:image'\]"):
        constructor(changed("private-llm-sync-agent", {"image": {}}), Release("0.1.0"))


def test_a_release_pins_everything() -> None:
    """By digests in the references and as OCM's own field, and the source by its commit."""
    names = [*(image.name for image in IMAGES), *(chart.name for chart in CHARTS)]
    release = Release("0.1.0", "c" * 40, dict.fromkeys(names, DIGEST))

    there = resources(release)

    for name in names:
        assert there[name]["access"]["imageReference"].endswith(f"@{DIGEST}"), name
        assert there[name]["digest"]["value"] == "a" * 64
        # The only kind that OCM leaves as it is when it uploads an artifact elsewhere.
        assert there[name]["digest"]["normalisationAlgorithm"] == "genericBlobDigest/v1"
    (source,) = constructor(CHARTS, release)["components"][0]["sources"]
    assert source["access"]["commit"] == "c" * 40


@pytest.mark.parametrize(
    ("digests", "said"),
    [
        ({"operator": "sha256:abc"}, "64 digits"),
        ({"operator": "a" * 64}, "64 digits"),
        ({"operators": DIGEST}, "operators"),
    ],
    ids=["too short", "no algorithm", "of nothing"],
)
def test_a_digest_that_cannot_be_right_is_refused(digests: dict[str, str], said: str) -> None:
    """A signature over a wrong one would be worth nothing."""
    with pytest.raises(DeliveryError, match=said):
        constructor(CHARTS, Release("0.1.0", "", digests))


def test_every_resource_has_a_version_that_ocm_takes() -> None:
    """A floating tag of others is none; the component's version stands in."""
    there = resources(Release("1.2.3"))

    assert there["traefik"]["version"] == "v3.7.15"
    assert there["llama-server"]["version"] == "1.2.3"


def test_what_we_build_names_its_source() -> None:
    """So that a resource can be traced to a commit."""
    for name, resource in resources().items():
        ours = resource["relation"] == "local"
        assert ("srcRefs" in resource) is ours, name
        assert ours is (name not in {"llama-server", "traefik"})


def test_writing_puts_the_files_below_the_given_root(tmp_path: Path) -> None:
    """Charts are read from there, too."""
    for chart in ("private-llm-operator", "private-llm-sync-agent", "private-llm-operator-ocm"):
        (tmp_path / "charts" / chart).mkdir(parents=True)
        for name in ("Chart.yaml", "values.yaml"):
            (tmp_path / "charts" / chart / name).write_text(
                (ROOT / "charts" / chart / name).read_text()
            )
    for folder in ("ocm", "docs/reference"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('version = "0.1.0"\n')

    write_all(tmp_path)

    written = yaml.safe_load((tmp_path / "ocm" / "component-constructor.yaml").read_text())
    assert written["components"][0]["name"] == component.COMPONENT


def test_the_constructor_holds_nothing_that_would_be_expanded() -> None:
    """OCM's command line puts environment variables where it sees a dollar sign."""
    assert "$" not in FILES[CONSTRUCTOR]
