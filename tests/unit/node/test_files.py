import stat
from pathlib import Path, PurePosixPath

from privatellm_local.node import files


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Secrets lie in them."""
    files.synchronise(tmp_path / "v", {PurePosixPath("key"): b"x"})

    assert stat.S_IMODE((tmp_path / "v").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "v" / "key").stat().st_mode) == 0o600


def test_a_directory_follows_what_it_should_hold(tmp_path: Path) -> None:
    """Changed contents are replaced, and what is not wanted any more goes."""
    files.synchronise(tmp_path, {PurePosixPath("a"): b"1", PurePosixPath("d/b"): b"2"})
    files.synchronise(tmp_path, {PurePosixPath("a"): b"3"})

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"3"


def test_a_file_that_is_right_is_not_touched(tmp_path: Path) -> None:
    """Programs that watch their files are not woken for nothing."""
    files.write(tmp_path / "a", b"1")
    before = (tmp_path / "a").stat().st_ino
    files.write(tmp_path / "a", b"1")
    same = (tmp_path / "a").stat().st_ino
    files.write(tmp_path / "a", b"2")

    assert before == same
    assert before != (tmp_path / "a").stat().st_ino
