"""A state directory for a supervisor."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from privatellm_local import state
from privatellm_local.paths import StatePaths
from privatellm_local.state import EnvironmentState


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state directory with its subdirectories."""
    made = StatePaths(tmp_path / "state")
    made.create()
    state.save(made, EnvironmentState(slot=0, edge_port=20_000, created_at=datetime.now(UTC)))
    return made
