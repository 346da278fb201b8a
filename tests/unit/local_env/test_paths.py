from pathlib import Path

import pytest

from privatellm_local import paths
from privatellm_local.paths import StatePaths


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_STATE_HOME": "/xdg"}, Path("/xdg/private-llm")),
        ({"XDG_STATE_HOME": "here"}, Path("~/.local/state/private-llm").expanduser()),
        ({"XDG_STATE_HOME": ""}, Path("~/.local/state/private-llm").expanduser()),
        ({}, Path("~/.local/state/private-llm").expanduser()),
    ],
)
def test_the_default_state_directory_follows_xdg(
    environment: dict[str, str], expected: Path
) -> None:
    """An empty or relative variable counts as none (XDG base directory specification)."""
    assert paths.default_state_directory(environment) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PRIVATE_LLM_CACHE": "/c", "XDG_CACHE_HOME": "/xdg"}, Path("/c")),
        ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/private-llm")),
        ({}, Path("~/.cache/private-llm").expanduser()),
    ],
)
def test_the_cache_directory_can_be_chosen(environment: dict[str, str], expected: Path) -> None:
    """Our own variable wins over XDG's."""
    assert paths.cache_paths(environment).root == expected


def test_two_names_of_one_directory_are_one_environment(tmp_path: Path) -> None:
    """Symbolic links and relative parts are resolved."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert paths.state_paths(tmp_path / "link") == paths.state_paths(tmp_path / "x" / ".." / "real")


def test_every_directory_of_an_environment_is_private(tmp_path: Path) -> None:
    """Keys, logs and data are nobody else's business."""
    state = StatePaths(tmp_path / "state")

    state.create()

    modes = {path.stat().st_mode & 0o777 for path in (state.root, *state.root.iterdir())}
    assert modes == {0o700}
