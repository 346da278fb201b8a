import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from privatellm_local import state
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.state import EnvironmentState

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def _write(paths: StatePaths, content: Any) -> None:
    paths.state_file.write_text(json.dumps(content))


def test_what_is_saved_is_loaded(paths: StatePaths) -> None:
    """Addresses survive a restart."""
    saved = EnvironmentState(slot=4, edge_port=8123, created_at=NOW)

    state.save(paths, saved)

    assert state.load(paths) == saved
    assert saved.addresses.edge == 8123
    assert paths.state_file.stat().st_mode & 0o777 == 0o600


def test_a_directory_without_state_holds_no_environment(paths: StatePaths) -> None:
    """Nothing is invented."""
    assert state.load(paths) is None


@pytest.mark.parametrize("version", [0, state.STATE_VERSION + 1, None, "1"])
def test_another_release_is_named_with_both_ways_out(paths: StatePaths, version: Any) -> None:
    """The user may remove the environment or go elsewhere."""
    _write(
        paths, {"version": version, "slot": 1, "edgePort": 1, "createdAt": "2026-01-01T00:00:00Z"}
    )

    with pytest.raises(StateError) as caught:
        state.load(paths)

    assert "another release" in str(caught.value)
    assert f"privatellm down --purge --state {paths.root}" in str(caught.value)
    assert "--state DIR" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 1, "slot": "x", "edgePort": 1, "createdAt": "-"}',
    ],
)
def test_damaged_state_is_reported_as_damaged(paths: StatePaths, text: str) -> None:
    """A half-written file names itself and the remedy."""
    paths.state_file.write_text(text)

    with pytest.raises(StateError, match=r"damaged.*down --purge"):
        state.load(paths)


@pytest.mark.parametrize("content", [(), ("lock",), ("lock", "state.json", "etcd")])
def test_empty_and_own_directories_are_usable(tmp_path: Path, content: tuple[str, ...]) -> None:
    """An interrupted first start leaves only a lock."""
    for name in content:
        (tmp_path / name).touch()

    state.require_usable(StatePaths(tmp_path))


def test_an_absent_directory_is_usable(tmp_path: Path) -> None:
    """It will be made."""
    state.require_usable(StatePaths(tmp_path / "new"))


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    """Somebody's home directory must never be purged."""
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(StateError, match=r"thesis\.tex.*--state DIR"):
        state.require_usable(StatePaths(tmp_path))


def test_a_path_that_kubeconfig_would_split_is_refused(tmp_path: Path) -> None:
    """Clients read KUBECONFIG as a list."""
    with pytest.raises(StateError, match="separates paths in KUBECONFIG"):
        state.require_usable(StatePaths(tmp_path / "a:b"))


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    """The message is about the path, not a traceback."""
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(StateError, match=str(file)):
        state.require_usable(StatePaths(file))
