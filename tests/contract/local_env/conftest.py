"""A state directory for a supervisor."""

from pathlib import Path

import pytest

from privatellm_local.paths import StatePaths


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state directory with its subdirectories."""
    state = StatePaths(tmp_path / "state")
    state.create()
    return state
