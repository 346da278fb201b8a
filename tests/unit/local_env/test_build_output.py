from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.build.output import BuildState, complaint

START = BuildState("kube-apiserver", 2, 4)


def _after(state: BuildState, *lines: str) -> BuildState:
    return reduce(BuildState.after, lines, state)


def test_before_the_packages_are_known_downloads_are_counted() -> None:
    """The first thing a fresh machine does is to fetch modules."""
    state = _after(
        START,
        "go: downloading k8s.io/api v0.37.2",
        "go: downloading golang.org/x/net v0.57.0",
    )

    assert START.describe() == "kube-apiserver (2 of 4): reading modules"
    assert state.describe() == "kube-apiserver (2 of 4): reading modules, 2 modules downloaded"


def test_compiled_packages_are_counted() -> None:
    """Each printed import path is one package."""
    state = _after(
        BuildState("etcd", 1, 4, packages=578),
        "internal/goarch",
        "go.etcd.io/etcd/api/v3/etcdserverpb",
        "k8s.io/api/core/v1",
    )

    assert state.describe() == "etcd (1 of 4): 3 of 578 packages compiled"


@pytest.mark.parametrize(
    "line", ["", "# k8s.io/api/core/v1", "./main.go:3:1: syntax error: oops", "go: finding module"]
)
def test_other_lines_are_no_progress(line: str) -> None:
    """Headings and errors are not packages."""
    state = BuildState("etcd", 1, 1, packages=5)

    assert state.after(line) == state


@pytest.mark.parametrize(("packages", "compiled"), [(0, 0), (1, 0), (1, 1), (578, 577), (578, 578)])
def test_the_last_package_is_the_program_itself(packages: int, compiled: int) -> None:
    """What takes long then is the linker."""
    state = BuildState("etcd", 1, 1, packages=packages, compiled=compiled)

    assert state.describe() == "etcd (1 of 1): linking"


@given(st.lists(st.text()), st.integers(min_value=0, max_value=5))
def test_the_count_never_exceeds_the_total(lines: list[str], packages: int) -> None:
    """Whatever the tool prints, the display stays sensible."""
    state = _after(BuildState("etcd", 1, 1, packages=packages), *lines)

    assert 0 <= state.compiled <= packages


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "it said nothing"),
        (["a", "", "b "], "b"),
        (["# pkg", "x.go:1: syntax error", "make: *** failed"], "x.go:1: syntax error"),
        (["error: something", "write: no space left on device"], "write: no space left on device"),
        (["compile: signal: killed", "exit status 1"], "compile: signal: killed"),
    ],
)
def test_the_most_telling_line_is_the_complaint(lines: list[str], expected: str) -> None:
    """Go ends with summaries; the cause stands above them."""
    assert complaint(lines) == expected
