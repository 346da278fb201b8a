"""PublishedResources in files: what is read, and what a mistake in one file means."""

from pathlib import Path

import pytest
import yaml

from privatellm_sync_agent.chart_files import chart_files, write_all
from privatellm_sync_agent.controllers.provided import says
from privatellm_sync_agent.published.defaults import published_resources
from privatellm_sync_agent.published.files import read_directory

CHART = Path(__file__).parents[3] / "charts/private-llm-sync-agent/files"
GOOD = {
    "apiVersion": "syncagent.kcp.io/v1alpha1",
    "kind": "PublishedResource",
    "metadata": {"name": "things"},
    "spec": {"resource": {"apiGroup": "example.com", "kind": "Thing"}},
}


def test_the_charts_files_are_read_as_they_are_meant() -> None:
    """Whatever the chart carries can be applied."""
    found = read_directory(CHART / "published-resources")

    assert found.faults == frozenset()
    assert list(found.manifests.values()) == sorted(
        published_resources(), key=lambda one: one["metadata"]["name"]
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "ConfigMap"}, "kind: Input should be 'PublishedResource'"),
        ({"status": {}}, "status: Extra inputs are not permitted"),
        ({"metadata": {}}, "metadata.name: Field required"),
        ({"metadata": {"name": "a", "finalizers": ["x"]}}, "metadata.finalizers"),
        ({"metadata": {"name": "a", "labels": {"a": True}}}, "metadata.labels.a"),
        ({"spec": []}, "spec: Input should be a valid dictionary"),
        ({"spec": {"resource": {"apiGroup": "", "kind": "A"}, "typo": 1}}, "spec.typo"),
    ],
    ids=str,
)
def test_a_broken_file_is_skipped_and_named(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    """The others are read all the same."""
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(GOOD | change))
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(GOOD))

    found = read_directory(tmp_path)

    assert list(found.manifests) == ["things"]
    (fault,) = found.faults
    assert said in fault


@pytest.mark.parametrize("text", ["a: [", "", "- 1", "\x00", "a: 1\n---\nb: 2\n"])
def test_what_is_no_object_is_a_fault_and_no_crash(tmp_path: Path, text: str) -> None:
    """Whatever somebody mounts."""
    (tmp_path / "one.yaml").write_text(text)

    found = read_directory(tmp_path)

    assert not found.manifests
    assert len(found.faults) == 1


def test_a_name_stands_for_one_object(tmp_path: Path) -> None:
    """The first file in alphabetical order has it."""
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(GOOD))
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(GOOD | {"spec": GOOD["spec"]}))

    (fault,) = read_directory(tmp_path).faults

    assert "b.yaml" in fault
    assert "repeats things" in fault


def test_the_hidden_files_of_a_mounted_config_map_are_no_objects(tmp_path: Path) -> None:
    """A ConfigMap's volume has directories and links whose names begin with dots."""
    (tmp_path / "..data").mkdir()
    (tmp_path / ".hidden.yaml").write_text("a: [")

    found = read_directory(tmp_path)

    assert (found.manifests, found.faults) == ({}, frozenset())


@pytest.mark.parametrize(
    ("live", "same"),
    [
        (GOOD, True),
        (GOOD | {"metadata": {"name": "things", "labels": {"theirs": "x"}}}, True),
        (GOOD | {"spec": {"resource": {"apiGroup": "other", "kind": "Thing"}}}, False),
    ],
    ids=["as the file", "with labels of others", "with another spec"],
)
def test_an_object_that_says_what_its_file_says_is_left_alone(
    live: dict[str, object], same: bool
) -> None:
    """A settled world costs reads alone."""
    assert says(live, GOOD) is same


def test_a_label_that_a_file_gives_must_be_there() -> None:
    """Or a selector would miss the object."""
    wanted = GOOD | {"metadata": {"name": "things", "labels": {"ours": "x"}}}

    assert not says(GOOD, wanted)
    assert says(wanted, GOOD)


def test_the_charts_files_are_up_to_date() -> None:
    """Otherwise run `python -m privatellm_sync_agent.chart_files charts/private-llm-sync-agent/files`."""
    for path, text in chart_files().items():
        assert (CHART / path).read_text() == text, path


def test_writing_removes_what_is_no_longer_generated(tmp_path: Path) -> None:
    """And nothing in other folders."""
    stray, other = tmp_path / "crds" / "old.yaml", tmp_path / "other.yaml"
    stray.parent.mkdir()
    stray.touch()
    other.touch()

    write_all(tmp_path)

    assert not stray.exists()
    assert other.exists()
