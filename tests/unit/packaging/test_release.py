"""A tag is released only when it is the version and the changelog tells of it."""

from pathlib import Path

import pytest

from privatellm_local.packaging.delivery.changelog import notes_of
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.sbom import sbom
from privatellm_local.packaging.delivery.tag import released_version

CHANGELOG = """\
# Changelog

<!-- towncrier release notes start -->

## 0.2.0 (2026-12-01)

### Features

- Keys rotate.

## 0.1.0 (2026-11-01)

- The first.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that is ready for the release of 0.2.0."""
    (tmp_path / "pyproject.toml").write_text('version = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    chart = tmp_path / "charts" / "some"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: some\nversion: 0.2.0\nappVersion: 0.2.0\n")
    return tmp_path


def test_a_tag_that_fits_is_released(repository: Path) -> None:
    """The answer is the version."""
    assert released_version(repository, "v0.2.0") == "0.2.0"


@pytest.mark.parametrize("tag", ["0.2.0", "v0.2.1", "v0.2.0-rc.1", ""])
def test_a_tag_of_another_version_is_refused(repository: Path, tag: str) -> None:
    """The message says how the tag should be called."""
    with pytest.raises(DeliveryError, match=r"tagged v0\.2\.0"):
        released_version(repository, tag)


def test_a_forgotten_chart_stops_a_release(repository: Path) -> None:
    """The message names the file and what it says."""
    chart = repository / "charts" / "some" / "Chart.yaml"
    chart.write_text(chart.read_text().replace("appVersion: 0.2.0", "appVersion: 0.1.0"))

    with pytest.raises(DeliveryError, match=r"charts/some/Chart\.yaml says 0\.1\.0"):
        released_version(repository, "v0.2.0")


def test_a_release_without_a_word_to_its_users_is_none(repository: Path) -> None:
    """The message says what to run."""
    (repository / "CHANGELOG.md").write_text("# Changelog\n")

    with pytest.raises(DeliveryError, match=r"towncrier build --version 0\.2\.0"):
        released_version(repository, "v0.2.0")


@pytest.mark.parametrize(
    ("version", "notes"),
    [("0.2.0", "### Features\n\n- Keys rotate.\n"), ("0.1.0", "- The first.\n")],
)
def test_notes_are_those_of_one_version(version: str, notes: str) -> None:
    """From its title to the next one."""
    assert notes_of(CHANGELOG, version) == notes


@pytest.mark.parametrize("version", ["0.2", "2.0", "0.2.0-rc.1", "0x2.0"])
def test_a_part_of_a_version_is_another_one(version: str) -> None:
    """Dots are dots."""
    with pytest.raises(DeliveryError):
        notes_of(CHANGELOG, version)


def test_an_empty_list_of_contents_is_still_one() -> None:
    """It says of which image it is."""
    listed = sbom("operator", ())

    assert listed["components"] == []
    assert listed["metadata"]["component"]["name"] == "private-llm/operator"
