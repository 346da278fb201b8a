import asyncio
import dataclasses
from pathlib import Path

import pytest

from privatellm_local.build import builder, commands, programs, toolchain
from privatellm_local.build.output import BuildState
from privatellm_local.build.programs import HELM, HELM_VERSION, PROGRAMS, Program
from privatellm_local.build.toolchain import Toolchain
from privatellm_local.errors import BuildError
from privatellm_local.machine import GIBIBYTE
from privatellm_local.paths import CachePaths
from privatellm_local.processes import identity
from privatellm_local.progress import SilentProgress


def _executables(directory: Path, names: list[str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).touch(mode=0o755)


@pytest.fixture
def chain() -> Toolchain:
    """The tool chain of this environment."""
    return toolchain.find()


def test_all_four_given_programs_are_used_as_they_are(tmp_path: Path) -> None:
    """KUBEBUILDER_ASSETS is what other tools of the field use."""
    _executables(tmp_path, [program.name for program in PROGRAMS])

    given = builder.given_programs({"KUBEBUILDER_ASSETS": str(tmp_path)})

    assert given is not None
    assert given.apiserver == tmp_path / "kube-apiserver"
    assert given.scheduler == tmp_path / "kube-scheduler"


def test_an_incomplete_set_of_given_programs_is_not_used(tmp_path: Path) -> None:
    """Envtest brings etcd and the API server only, perhaps of another version."""
    _executables(tmp_path, ["etcd", "kube-apiserver"])

    assert builder.given_programs({"KUBEBUILDER_ASSETS": str(tmp_path)}) is None
    assert builder.given_programs({}) is None


async def test_cached_programs_are_found_without_a_build(
    cache: CachePaths, chain: Toolchain
) -> None:
    """Every later start takes no time."""
    for program in PROGRAMS:
        place = builder.cached(cache, chain, program)
        _executables(place.parent, [place.name])

    found = await builder.ensure_programs(cache, SilentProgress(), {})

    assert found.etcd == builder.cached(cache, chain, PROGRAMS[0])


@pytest.mark.parametrize(
    "change", [{"linker_flags": "-s"}, {"package": "other"}, {"module": "kubernetes"}]
)
def test_whatever_goes_into_a_program_changes_its_digest(change: dict[str, str]) -> None:
    """A cached program is never taken for another."""
    changed = dataclasses.replace(PROGRAMS[0], **change)

    assert changed.digest("go1.27.3") != PROGRAMS[0].digest("go1.27.3")


def test_another_go_builds_another_program() -> None:
    """The tool chain is an input as well."""
    assert PROGRAMS[0].digest("go1.27.3") != PROGRAMS[0].digest("go1.27.4")


def test_the_modules_that_pin_everything_are_part_of_the_package() -> None:
    """And they name exactly the programs that are built."""
    for program in (*PROGRAMS, HELM):
        text = (program.directory / "go.mod").read_text()
        assert program.package in text
        assert (program.directory / "go.sum").stat().st_size > 1000
    assert (
        f"k8s.io/kubernetes {programs.KUBERNETES_VERSION}"
        in (programs.MODULES / "kubernetes" / "go.mod").read_text()
    )
    assert f"helm.sh/helm/v4 {HELM_VERSION}" in (HELM.directory / "go.mod").read_text()


async def test_a_program_is_missing_for_those_who_asked_for_it(
    cache: CachePaths, chain: Toolchain
) -> None:
    """An environment starts without Helm, which only tests of the chart build."""
    place = builder.cached(cache, chain, HELM)
    _executables(place.parent, [place.name])

    assert builder.missing(PROGRAMS, cache, chain) == PROGRAMS
    assert builder.missing((HELM,), cache, chain) == ()
    assert await builder.ensure_built((HELM,), cache, SilentProgress(), {}) == (place,)


@pytest.mark.parametrize(
    ("processors", "gibibytes", "expected"), [(2, 24, 2), (16, 4, 3), (16, 64, 16), (4, 1, 1)]
)
def test_parallelism_follows_processors_and_memory(
    processors: int, gibibytes: int, expected: int
) -> None:
    """A compiler may take a gibibyte, and one always runs."""
    assert builder.parallelism(processors, gibibytes * GIBIBYTE) == expected


def test_a_users_flags_do_not_reach_a_build(
    chain: Toolchain, cache: CachePaths, tmp_path: Path
) -> None:
    """Where modules come from does."""
    user = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin",
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "https://proxy.example",
        "GOEXPERIMENT": "nonsense",
        "AWS_SECRET_ACCESS_KEY": "x",
    }

    environment = toolchain.environment(chain, cache, user)

    assert environment["GOFLAGS"] == ""
    assert environment["GOPROXY"] == "https://proxy.example"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["GOTOOLCHAIN"] == "local"
    assert not {"GOEXPERIMENT", "AWS_SECRET_ACCESS_KEY"} & environment.keys()


def test_caches_move_to_ours_when_the_home_cannot_be_written(
    chain: Toolchain, cache: CachePaths, tmp_path: Path
) -> None:
    """A service user without a home can build too."""
    home = tmp_path / "home"
    home.touch()
    user = {"PATH": "/usr/bin", "HOME": str(home)}

    environment = toolchain.environment(chain, cache, user)

    assert environment["GOCACHE"] == str(cache.root / "go-build")
    assert environment["GOMODCACHE"] == str(cache.root / "go-mod")


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program whose module asks for a package that does not exist."""
    monkeypatch.setattr(programs, "MODULES", tmp_path)
    module = tmp_path / "broken"
    module.mkdir()
    (module / "go.mod").write_text("module broken\n\ngo 1.27\n")
    (module / "go.sum").touch()
    return Program("broken", "broken", "broken/missing")


async def test_a_failed_build_names_program_cause_and_log_and_leaves_nothing(
    broken: Program, chain: Toolchain, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line; the next start goes on from Go's own caches."""
    monkeypatch.setattr(builder, "LIST_ATTEMPTS", 1)
    environment = toolchain.environment(chain, cache)
    log = cache.root / "build.log"
    target = builder.cached(cache, chain, broken)
    build = builder._Build(broken, target, chain, environment, log)

    with pytest.raises(BuildError) as caught:
        await build.run(BuildState("broken", 1, 1), SilentProgress())

    assert "broken could not be built" in str(caught.value)
    assert "broken/missing" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "broken/missing" in log.read_text()
    assert not target.exists()


async def test_leftovers_of_a_killed_build_are_removed(cache: CachePaths) -> None:
    """Half a program takes space and is of no use."""
    scratch = cache.binaries / "0123" / f"{builder.SCRATCH_PREFIX}x"
    scratch.mkdir(parents=True)
    (scratch / "etcd").touch()

    builder._remove_leftovers(cache)

    assert not scratch.exists()


async def test_a_cancelled_build_takes_its_processes_with_it(tmp_path: Path) -> None:
    """Ctrl-C leaves no compiler behind."""
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    work = asyncio.create_task(
        commands.run(
            ("/bin/sh", "-c", "sleep 600 & echo $! >&2; wait"),
            directory=tmp_path,
            environment={"PATH": "/usr/bin:/bin"},
            log=tmp_path / "log",
            on_line=started.set_result,
        )
    )
    compiler = identity.identify(int(await asyncio.wait_for(started, 10)))

    work.cancel()
    await asyncio.gather(work, return_exceptions=True)

    assert compiler is not None
    assert identity.wait_for_exit(compiler, timeout=5)
