"""A state directory and addresses that no environment uses."""

from pathlib import Path

import pytest

from privatellm_local.addresses import SLOTS, AddressPlan, plan_for
from privatellm_local.paths import CachePaths, StatePaths


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state directory with its subdirectories."""
    state = StatePaths(tmp_path / "state")
    state.create()
    return state


@pytest.fixture
def cache(tmp_path: Path) -> CachePaths:
    """A cache directory with its subdirectories."""
    directory = CachePaths(tmp_path / "cache")
    directory.create()
    return directory


@pytest.fixture
def plan() -> AddressPlan:
    """The addresses of the last slot."""
    return plan_for(SLOTS - 1)
