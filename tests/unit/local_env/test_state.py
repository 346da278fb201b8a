import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import local_holding
from privatellm_local import state
from privatellm_local.addresses import SLOTS
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import identity, status
from privatellm_local.processes.holding import Role
from privatellm_local.processes.status import SupervisorStatus
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


GOOD = {"version": 1, "slot": 4, "edgePort": 8123, "createdAt": "2026-11-30T00:00:00Z"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff\xfe\x00",
        b"\x89PNG",
        b'{"version": 1}',
        *(
            json.dumps(GOOD | wrong).encode()
            for wrong in (
                {"slot": "x"},
                {"slot": True},
                {"slot": -1},
                {"slot": SLOTS},
                {"slot": 10**30},
                {"edgePort": 0},
                {"edgePort": 80},
                {"edgePort": 65_536},
                {"edgePort": 70_000},
                {"edgePort": None},
                {"createdAt": "-"},
                {"more": 1},
            )
        ),
    ],
    ids=lambda content: content[:60].decode(errors="backslashreplace"),
)
def test_damaged_state_is_reported_as_damaged(paths: StatePaths, content: bytes) -> None:
    """Whatever is in the file, the message names it and the remedy."""
    paths.state_file.write_bytes(content)

    with pytest.raises(StateError, match=r"damaged.*down --purge"):
        state.load(paths)


def test_good_state_at_the_bounds_is_read(paths: StatePaths) -> None:
    """The last slot and the highest port are as good as any."""
    _write(paths, GOOD | {"slot": SLOTS - 1, "edgePort": 65_535})

    assert state.load(paths) is not None


@pytest.mark.parametrize("content", [(), ("lock",), ("lock", "state.json", "etcd")])
def test_empty_and_own_directories_are_usable(tmp_path: Path, content: tuple[str, ...]) -> None:
    """An `up` that was killed in its first moment leaves only a lock."""
    for name in content:
        (tmp_path / name).touch()
    if "state.json" in content:
        _write(StatePaths(tmp_path), GOOD)

    state.require_usable(StatePaths(tmp_path))


@pytest.mark.parametrize(
    "leftovers",
    [(), ("pki", "etcd", "run"), (".state.json.x1",)],
    ids="+".join,
)
def test_what_a_failed_first_up_leaves_is_usable(
    tmp_path: Path, leftovers: tuple[str, ...]
) -> None:
    """The next one goes on in the directory, and `down --purge` may remove it."""
    paths = StatePaths(tmp_path)
    for name in leftovers:
        (tmp_path / name).mkdir()
    local_holding.sign(paths.lock_file, Role.UP)

    state.require_usable(paths)

    assert state.is_environment(paths)


def test_what_remains_of_a_removed_environment_is_usable(paths: StatePaths) -> None:
    """A supervisor may have written its last report while its directory was being removed."""
    status.write(paths, SupervisorStatus(supervisor=identity.myself(), started_at=NOW))

    state.require_usable(paths)

    assert state.is_environment(paths)


def test_directories_of_our_names_without_any_file_are_usable(tmp_path: Path) -> None:
    """A component may have made one again while the environment was being removed."""
    (tmp_path / "run" / "flexvolumes").mkdir(parents=True)

    state.require_usable(StatePaths(tmp_path))

    assert state.is_environment(StatePaths(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        {"lock": "apt\n"},
        {"lock": "", "log": ""},
        {"config": "", "log": ""},
        {"state.json": '{"tabs": []}'},
        {"state.json": "{", "thesis.tex": ""},
    ],
    ids="+".join,
)
def test_somebody_elses_files_of_our_names_are_refused(
    tmp_path: Path, content: dict[str, str]
) -> None:
    """A name proves nothing."""
    for name, text in content.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(StateError, match="holds other files"):
        state.require_usable(StatePaths(tmp_path))
    assert not state.is_environment(StatePaths(tmp_path))


@pytest.mark.parametrize("content", ["", "{", "[]", "\x89PNG", '{"version": 0}', '{"version": 9}'])
def test_a_state_file_alone_that_cannot_be_read_any_more_is_ours(
    tmp_path: Path, content: str
) -> None:
    """Its message says to purge the directory, so that must work."""
    paths = StatePaths(tmp_path)
    paths.state_file.write_text(content)

    with pytest.raises(StateError, match="down --purge"):
        state.load(paths)
    state.require_usable(paths)
    assert state.is_environment(paths)


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_an_environment_without_its_state_beside_other_files_gets_one_advice(
    tmp_path: Path, content: str | None
) -> None:
    """Whoever asks is told the same: what is not ours comes first, or purging would be refused."""
    paths = StatePaths(tmp_path)
    local_holding.sign(paths.lock_file, Role.UP)
    (tmp_path / "thesis.tex").touch()
    if content is not None:
        paths.state_file.write_text(content)

    with pytest.raises(
        StateError, match=r"\(thesis\.tex, \.\.\.\): move .* down --purge"
    ) as refused:
        state.require_usable(paths)
    if content is not None:
        with pytest.raises(StateError) as unread:
            state.load(paths)
        assert str(unread.value) == str(refused.value)

    (tmp_path / "thesis.tex").unlink()
    state.require_usable(paths)
    assert state.is_environment(paths)


def test_a_damaged_file_of_our_name_among_other_files_is_not_to_be_purged(tmp_path: Path) -> None:
    """Nothing in the directory was written by us for certain."""
    (tmp_path / "thesis.tex").touch()
    StatePaths(tmp_path).state_file.write_text("{")

    with pytest.raises(StateError, match="choose an empty or new directory") as caught:
        state.load(StatePaths(tmp_path))
    assert "purge" not in str(caught.value)


def test_a_whole_file_of_somebody_else_is_not_to_be_purged(paths: StatePaths) -> None:
    """The way out leads around it."""
    _write(paths, {"tabs": []})

    with pytest.raises(StateError, match="not of an environment") as caught:
        state.load(paths)
    assert "purge" not in str(caught.value)


@pytest.mark.parametrize("inner", ["inner", "node/deep/inner"])
def test_a_directory_inside_another_environment_is_refused(paths: StatePaths, inner: str) -> None:
    """It would be removed with that one."""
    _write(paths, GOOD)

    with pytest.raises(StateError, match=f"inside the environment in {paths.root} .*--state DIR"):
        state.require_apart(StatePaths(paths.root / inner))

    state.require_apart(paths)
    state.require_apart(StatePaths(paths.root.parent / "sibling"))


@pytest.mark.parametrize("content", ['{"tabs": []}', "{", None])
def test_only_an_environment_keeps_others_out(tmp_path: Path, content: str | None) -> None:
    """A file, or a directory, that is called like ours is somebody else's business."""
    file = tmp_path / "state.json"
    if content is None:
        file.mkdir()
    else:
        file.write_text(content)

    state.require_apart(StatePaths(tmp_path / "inner"))


def test_an_absent_directory_is_usable(tmp_path: Path) -> None:
    """It will be made."""
    state.require_usable(StatePaths(tmp_path / "new"))


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    """Somebody's home directory must never be purged."""
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(StateError, match=r"thesis\.tex.*--state DIR"):
        state.require_usable(StatePaths(tmp_path))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a:b", "separates paths in KUBECONFIG"),
        ("a,b", "tells paths in arguments of pods apart"),
        ("a=b", "tells paths in arguments of pods apart"),
        ("a$b", "begins a variable"),
        ("a\nb", "cannot be printed"),
        ("a:\nb", "cannot be printed"),
        ("a\x1b[31mb", "cannot be printed"),
        ("a\udcffb", "cannot be printed"),
    ],
)
def test_a_path_that_some_program_would_misread_is_refused(
    tmp_path: Path, name: str, reason: str
) -> None:
    """In a sentence that a terminal can show."""
    with pytest.raises(StateError, match=reason) as caught:
        state.require_usable_path(StatePaths(tmp_path / name))

    assert "--state DIR" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_path_with_spaces_and_letters_of_any_language_is_usable(tmp_path: Path) -> None:
    """People name their directories as they like."""
    state.require_usable_path(StatePaths(tmp_path / 'Müllers größte "Modelle" (2) 模型'))


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    """The message is about the path, not a traceback."""
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(StateError, match=str(file)):
        state.require_usable(StatePaths(file))
