from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.paths import PathMap

# The directory lies below /tmp on purpose: a mount of /tmp must not rewrite what was just written.
ROOT = "/tmp/node"  # noqa: S108 - a name in a table, never used as a directory
MOUNTS = PathMap(
    {
        "/models": Path(ROOT, "m"),
        "/models/cache": Path(ROOT, "c"),
        "/tmp": Path(ROOT, "t"),  # noqa: S108 - a mount path of a pod
    }
)

NAMES = st.text(alphabet="abcdefg-_", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("/models", f"{ROOT}/m"),
        ("/models/x.gguf", f"{ROOT}/m/x.gguf"),
        ("/models/cache/x", f"{ROOT}/c/x"),
        ("/models/cached/x", f"{ROOT}/m/cached/x"),
        ("--model=/models/x", f"--model={ROOT}/m/x"),
        ("/models/a:/tmp/b", f"{ROOT}/m/a:{ROOT}/t/b"),
        ("open('/models/x')", f"open('{ROOT}/m/x')"),
        ("/models-old/x", "/models-old/x"),
        ("/models.d", "/models.d"),
        ("/var/models", "/var/models"),
        ("https://host/models/x", "https://host/models/x"),
        ("https://host:80/tmp", "https://host:80/tmp"),
        ("../tmp", "../tmp"),
        ("models", "models"),
        ("", ""),
    ],
)
def test_mount_paths_are_rewritten_at_path_boundaries_longest_first(
    literal: str, expected: str
) -> None:
    """A mount path is replaced where it is a path, and left alone where it is part of another."""
    assert expected == MOUNTS.rewrite(literal)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_path_below_a_mount_stays_below_its_directory(names: list[str]) -> None:
    """The part below the mount is kept as it is, whatever it looks like."""
    below = "/".join(names)

    assert PathMap({"/models": Path(ROOT, "m")}).rewrite(f"/models/{below}") == f"{ROOT}/m/{below}"


@given(st.text())
def test_without_mounts_nothing_changes(text: str) -> None:
    """A container without volumes gets its literals as they are written."""
    assert text == PathMap({}).rewrite(text)


@given(st.text(alphabet="abc/ .=:,-$()"))
def test_literals_that_name_no_mount_are_untouched(text: str) -> None:
    """Nothing is rewritten by accident."""
    mounts = PathMap({"/data/volume": Path("/elsewhere")})

    assert text == mounts.rewrite(text)


@pytest.mark.parametrize("path", ["/", "", "relative", "/a/../b", "//"])
def test_a_mount_path_that_would_rewrite_everything_is_refused(path: str) -> None:
    """The root, relative paths and '..' have no meaning without a mount namespace."""
    with pytest.raises(ContainerRefusedError, match="absolute"):
        PathMap({path: Path("/x")})
