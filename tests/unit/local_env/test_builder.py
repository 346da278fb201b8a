import asyncio
import dataclasses
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typing_extensions import override

from privatellm_local import machine
from privatellm_local.build import builder, commands, given, kept, programs, toolchain
from privatellm_local.build.output import BuildState
from privatellm_local.build.programs import HELM, HELM_VERSION, PROGRAMS, Program
from privatellm_local.build.toolchain import Toolchain
from privatellm_local.errors import BuildError
from privatellm_local.machine import GIBIBYTE
from privatellm_local.paths import CachePaths
from privatellm_local.processes import identity
from privatellm_local.progress import SilentProgress


class Told(SilentProgress):
    """Progress that remembers its notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @override
    def note(self, message: str) -> None:
        self.notes.append(message)


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

    found = given.programs({"KUBEBUILDER_ASSETS": str(tmp_path)})

    names = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    assert found == tuple(tmp_path / name for name in names)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("#!/bin/sh\nexit 3\n", r"`kube-scheduler --version` ended with 3"),
        ("#!/absent/interpreter\n", r"`kube-scheduler --version` cannot be started"),
        ("\x7fELF", r"`kube-scheduler --version` cannot be started"),
    ],
    ids=["fails", "of another machine", "truncated"],
)
async def test_a_given_program_that_does_not_run_is_told_before_anything_starts(
    cache: CachePaths, tmp_path: Path, content: str, fault: str
) -> None:
    """As a component it would only never become ready."""
    _executables(tmp_path, [program.name for program in PROGRAMS])
    for program in PROGRAMS:
        (tmp_path / program.name).write_text("#!/bin/sh\n")
    (tmp_path / "kube-scheduler").write_text(content)

    with pytest.raises(BuildError, match=fault):
        await builder.ensure_programs(
            cache, SilentProgress(), {"KUBEBUILDER_ASSETS": str(tmp_path)}
        )


async def test_an_incomplete_set_of_given_programs_is_named_and_starts_no_build(
    cache: CachePaths, tmp_path: Path
) -> None:
    """Envtest brings etcd and the API server only; who set the variable expects no long build."""
    _executables(tmp_path, ["etcd", "kube-apiserver"])
    (tmp_path / "kube-scheduler").mkdir()

    with pytest.raises(BuildError, match="lacks kube-controller-manager, kube-scheduler: complete"):
        await builder.ensure_programs(
            cache, SilentProgress(), {"KUBEBUILDER_ASSETS": str(tmp_path)}
        )
    with pytest.raises(BuildError, match=r"/absent, which .* lacks etcd, kube-apiserver"):
        given.programs({"KUBEBUILDER_ASSETS": f"{tmp_path}/absent"})

    assert given.programs({}) is None
    assert given.programs({"KUBEBUILDER_ASSETS": ""}) is None


def _built(cache: CachePaths, chain: Toolchain, program: Program) -> Path:
    """Keep something in a program's place as a build does."""
    place = kept.place(cache, chain.version, program)
    place.parent.mkdir(parents=True, exist_ok=True)
    result = place.with_name("result")
    result.write_bytes(b"\x7fELF" + program.name.encode())
    result.chmod(0o755)
    kept.keep(result, place)
    return place


async def test_cached_programs_are_found_without_a_build(
    cache: CachePaths, chain: Toolchain
) -> None:
    """Every later start takes no time."""
    places = [_built(cache, chain, program) for program in PROGRAMS]

    found = await builder.ensure_programs(cache, SilentProgress(), {})

    assert found.etcd == places[0]


def _truncate(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-1])


def _alter(place: Path) -> None:
    place.write_bytes(place.read_bytes().replace(b"ELF", b"FLE"))


def _lose_record(place: Path) -> None:
    kept.record_file(place).unlink()


def _spoil_record(place: Path) -> None:
    kept.record_file(place).write_bytes(b"\xff{")


def _remove(place: Path) -> None:
    place.unlink()


@pytest.mark.parametrize(
    "damage", [_truncate, _alter, _lose_record, _spoil_record, _remove], ids=lambda f: f.__name__
)
def test_a_cached_program_that_is_not_what_was_built_is_missing(
    cache: CachePaths, chain: Toolchain, damage: Callable[[Path], None]
) -> None:
    """A full disk leaves files that exist and do not start."""
    places = [_built(cache, chain, program) for program in PROGRAMS]

    damage(places[1])

    assert kept.missing(PROGRAMS, cache, chain.version) == (PROGRAMS[1],)


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
    place = _built(cache, chain, HELM)

    assert kept.missing(PROGRAMS, cache, chain.version) == PROGRAMS
    assert kept.missing((HELM,), cache, chain.version) == ()
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

    assert environment["GOFLAGS"] == "-modcacherw"
    assert environment["GOPROXY"] == "https://proxy.example"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["GOTOOLCHAIN"] == "local"
    assert not {"GOEXPERIMENT", "AWS_SECRET_ACCESS_KEY"} & environment.keys()


def test_go_writes_below_our_cache_and_nowhere_else(
    chain: Toolchain, cache: CachePaths, tmp_path: Path
) -> None:
    """Not into the user's home, not into /tmp, whatever variables say; that needs no home at all."""
    home = tmp_path / "home"
    home.mkdir()
    user = {"PATH": "/usr/bin", "HOME": str(home), "GOCACHE": str(home), "GOMODCACHE": str(home)}

    environment = toolchain.environment(chain, cache, user)
    asked = subprocess.run(
        [chain.go, "env", "-json"], env=environment, capture_output=True, check=True
    )

    reported = json.loads(asked.stdout)
    places = ("GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOPATH", "GOTELEMETRYDIR")
    assert [n for n in places if not Path(reported[n]).is_relative_to(cache.root / "go")] == []
    assert Path(environment["TMPDIR"]).is_relative_to(cache.root / "go")
    assert list(home.iterdir()) == []
    assert toolchain.environment(chain, cache, {"PATH": "/usr/bin"})["GOPROXY"]


def test_modules_come_from_the_proxy_alone_unless_the_user_says_otherwise(
    chain: Toolchain, cache: CachePaths, tmp_path: Path
) -> None:
    """Without a choice nothing asks hosts of source code; a choice is taken as it is."""
    settings = tmp_path / ".config" / "go" / "env"
    settings.parent.mkdir(parents=True)
    user = {"PATH": "/usr/bin", "HOME": str(tmp_path)}

    def proxy(**variables: str) -> str:
        return toolchain.environment(chain, cache, {**user, **variables})["GOPROXY"]

    assert proxy().startswith("https://")
    assert "direct" not in proxy()
    assert proxy(GOPROXY="https://a.example,direct") == "https://a.example,direct"
    settings.write_text(
        "GOPROXY=https://b.example|direct\nGOFLAGS=-x=y\nGOEXPERIMENT=wrong\nGOARCH=wrong\n"
    )
    assert proxy() == "https://b.example|direct"
    assert proxy(GOENV="off") != proxy()
    assert toolchain.without_direct("https://a.example|direct") == "https://a.example"
    assert toolchain.without_direct("direct") == "direct"


def test_the_disk_is_asked_about_every_file_system_once(
    chain: Toolchain, cache: CachePaths
) -> None:
    """All that a build writes counts, wherever a link leads."""
    toolchain.environment(chain, cache, {"PATH": "/usr/bin"})
    total = sum(toolchain.disk_needs(cache).values()) + builder.PROGRAM_BYTES

    assert list(builder._disk_needs(cache).values()) == [total]

    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        modules = Path(toolchain.environment(chain, cache, {"PATH": "/usr/bin"})["GOMODCACHE"])
        modules.rmdir()
        modules.symlink_to(elsewhere)
        needs = builder._disk_needs(cache)

    assert sum(needs.values()) == total
    assert modules in needs


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
    target = kept.place(cache, chain.version, broken)
    build = builder._Build(broken, target, chain, environment, log)

    with pytest.raises(BuildError) as caught:
        await build.run(BuildState("broken", 1, 1), SilentProgress())

    assert "broken could not be built" in str(caught.value)
    assert "broken/missing" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "broken/missing" in log.read_text()
    assert not target.exists()


async def test_a_build_that_ends_leaves_no_scratch_files(
    broken: Program, chain: Toolchain, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go leaves its own behind when it is told to end; and a damaged program is told of."""
    monkeypatch.setattr(builder, "LIST_ATTEMPTS", 1)
    monkeypatch.setattr(machine, "BUILD_MEMORY_BYTES", 0)
    monkeypatch.setattr(toolchain, "PLACES", {k: (d, 0) for k, (d, _) in toolchain.PLACES.items()})
    _truncate(_built(cache, chain, broken))
    progress = Told()

    with pytest.raises(BuildError):
        await builder.ensure_built((broken,), cache, progress, {"PATH": "/usr/bin"})

    assert not toolchain.scratch(cache).exists()
    assert any("cached broken is not what was built" in note for note in progress.notes)


async def test_leftovers_of_a_killed_build_are_removed(cache: CachePaths) -> None:
    """Half a program takes space and is of no use."""
    scratch = cache.binaries / "0123" / f"{builder.SCRATCH_PREFIX}x"
    scratch.mkdir(parents=True)
    (scratch / "etcd").touch()
    work = toolchain.scratch(cache) / "go-build1"
    work.mkdir(parents=True)

    builder._remove_leftovers(cache)
    builder._remove_leftovers(cache)

    assert not scratch.exists()
    assert not work.exists()


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
