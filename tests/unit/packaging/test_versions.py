"""There is one version, and whatever repeats it agrees."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.versions import (
    REPEATED,
    SOURCE,
    Place,
    disagreements,
    set_version,
    version_of,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of every file that states the version."""
    for place in (SOURCE, *REPEATED):
        for path in ROOT.glob(place.glob):
            target = tmp_path / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return tmp_path


def test_package_charts_component_and_documentation_agree() -> None:
    """Otherwise: python -m privatellm_local.packaging.delivery version VERSION."""
    assert disagreements(ROOT) == ()


@pytest.mark.parametrize("place", REPEATED, ids=lambda place: f"{place.glob} {place.pattern[:12]}")
def test_each_place_still_states_a_version(place: Place) -> None:
    """A pattern that finds nothing would check nothing."""
    assert any(re.search(place.pattern, path.read_text()) for path in ROOT.glob(place.glob))


@pytest.mark.parametrize("version", ["0.2.0", "10.20.30", "1.0.0-rc.1"])
def test_a_new_version_is_written_everywhere(copied: Path, version: str) -> None:
    """Longer and shorter ones alike, and nothing around them moves."""
    changed = set_version(copied, version)

    assert version_of(copied) == version
    assert disagreements(copied) == ()
    assert copied / "pyproject.toml" in changed
    chart = yaml.safe_load((copied / "charts/private-llm-operator-ocm/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    set_version(copied, version_of(ROOT))
    for path in changed:
        assert path.read_text() == (ROOT / path.relative_to(copied)).read_text()


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "01.2.3", "1.2.3 ", "1.2.3+build", ""])
def test_what_is_no_version_is_refused(copied: Path, version: str) -> None:
    """And nothing is written."""
    with pytest.raises(DeliveryError, match=r"1\.2\.3"):
        set_version(copied, version)

    assert disagreements(copied) == ()


def test_a_second_version_in_the_source_is_an_error(copied: Path) -> None:
    """Nobody would know which one counts."""
    file = copied / "pyproject.toml"
    file.write_text(file.read_text() + '\n[tool.other]\nversion = "1.2.3"\n')

    with pytest.raises(DeliveryError, match="2 times"):
        version_of(copied)
