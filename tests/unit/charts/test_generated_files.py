"""What the chart takes from types is what the types say now."""

import json
from pathlib import Path, PurePosixPath

import pytest
import yaml

from privatellm.api import crds
from privatellm.catalogue import default_directory
from privatellm_local.packaging.__main__ import FOLDERS, write_all
from privatellm_local.packaging.files import CHART, generated_files

ROOT = Path(__file__).parents[3]
FILES = generated_files()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_generated_file_is_up_to_date(path: PurePosixPath) -> None:
    """Otherwise run `make crds`."""
    assert (ROOT / path).read_text() == FILES[path]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_generated_folder_holds_nothing_else(folder: str) -> None:
    """A kind or model that is gone does not stay in the chart."""
    there = {path.relative_to(ROOT) for path in (ROOT / CHART / "files" / folder).glob("*")}

    assert {PurePosixPath(path) for path in there} <= set(FILES)


def test_writing_removes_what_is_no_longer_generated(tmp_path: Path) -> None:
    """And writes everything else below the root that it is given."""
    stray = tmp_path / CHART / "files" / "crds" / "old.yaml"
    stray.parent.mkdir(parents=True)
    stray.touch()

    write_all(tmp_path)

    assert not stray.exists()
    assert all((tmp_path / path).read_text() == text for path, text in FILES.items())


def test_the_chart_carries_every_kind_and_every_model() -> None:
    """By the names under which the templates look for them."""
    files = ROOT / CHART / "files"

    assert len(list((files / "crds").iterdir())) == len(crds.OBJECT_TYPES)
    assert {p.name for p in (files / "catalogue").iterdir()} == {
        p.name for p in default_directory().glob("*.yaml")
    }
    assert len(list((files / "traefik-crds").iterdir())) == 10


def test_no_definition_goes_with_a_release() -> None:
    """Deleting a definition deletes every object of it."""
    for path in (ROOT / CHART / "files").glob("*crds/*.yaml"):
        crd = yaml.safe_load(path.read_text())
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep", path


def test_the_versions_of_chart_and_distribution_agree() -> None:
    """There is one version."""
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()

    assert chart["version"] == chart["appVersion"]
    assert f'version = "{chart["version"]}"' in project


def test_the_schema_is_json_that_helm_reads() -> None:
    """Draft 2020-12, which Helm 3.18 and newer know."""
    schema = json.loads(FILES[CHART / "values.schema.json"])

    assert schema["$schema"].endswith("2020-12/schema")
