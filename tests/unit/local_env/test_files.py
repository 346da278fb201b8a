import os
from pathlib import Path

import pytest

from privatellm_local import files
from privatellm_local.errors import StateError


def test_files_are_private_whatever_the_umask_is(tmp_path: Path) -> None:
    """Other users of the machine are strangers."""
    before = os.umask(0)
    try:
        files.make_private_directory(tmp_path / "a" / "b")
        files.write_atomically(tmp_path / "a" / "b" / "key", "secret")
    finally:
        os.umask(before)

    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b" / "key").stat().st_mode & 0o777 == 0o600


def test_a_failed_write_keeps_the_old_content_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk loses nothing."""
    file = tmp_path / "state.json"
    files.write_atomically(file, "old")

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)

    with pytest.raises(StateError, match="No space is left"):
        files.write_atomically(file, "new")

    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_unchanged_content_is_not_written_again(tmp_path: Path) -> None:
    """A settled environment causes no writes."""
    file = tmp_path / "config"

    assert files.write_if_changed(file, "a")
    assert not files.write_if_changed(file, "a")
    assert files.write_if_changed(file, "b")


def test_a_missing_file_reads_as_nothing(tmp_path: Path) -> None:
    """Absence is an answer, not a failure."""
    assert files.read_text(tmp_path / "absent") is None


def test_an_unreadable_file_must_be_readable_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at somebody else's environment does not want to write there."""

    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)

    with pytest.raises(StateError, match="must be readable for the current user") as caught:
        files.read_text(tmp_path / "state.json")
    assert "writable" not in str(caught.value)


def test_an_unwritable_place_is_explained_with_the_way_out(tmp_path: Path) -> None:
    """The message names the two ways to choose another place."""
    with pytest.raises(StateError) as caught, files.translated(tmp_path):
        raise PermissionError(13, "Permission denied")

    assert "--state DIR" in str(caught.value)
    assert "PRIVATE_LLM_CACHE" in str(caught.value)


def test_a_lock_is_exclusive_until_it_is_left(tmp_path: Path) -> None:
    """The second taker is told instead of being let in."""
    lock = tmp_path / "lock"

    with files.exclusive_lock(lock) as first, files.exclusive_lock(lock, wait=False) as second:
        assert first
        assert not second
    with files.exclusive_lock(lock, wait=False) as third:
        assert third
