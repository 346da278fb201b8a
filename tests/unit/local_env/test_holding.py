"""Who holds a lock, by what its file says."""

import shutil
from pathlib import Path

import local_holding
from privatellm_local.processes import holding
from privatellm_local.processes.holding import Role


def test_a_copy_of_a_lock_file_names_no_holder(tmp_path: Path) -> None:
    """A backup of a running environment does not run, and removing it ends nothing."""
    original, copy = tmp_path / "lock", tmp_path / "copy"
    local_holding.sign(original, Role.SUPERVISOR)
    shutil.copy2(original, copy)

    assert holding.living(original) is not None
    assert holding.living(copy) is None


def test_a_lock_file_that_was_moved_still_names_its_holder(tmp_path: Path) -> None:
    """The environment runs wherever its directory is."""
    before, after = tmp_path / "lock", tmp_path / "moved"
    local_holding.sign(before, Role.SUPERVISOR)
    before.rename(after)

    assert holding.living(after) is not None
