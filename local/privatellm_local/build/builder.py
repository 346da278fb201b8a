"""Have programs: given by the user, found in the cache, or built now."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from privatellm_local import files, machine
from privatellm_local.build import commands, given, kept, toolchain
from privatellm_local.build.output import BuildState, complaint
from privatellm_local.build.programs import PROGRAMS, Program
from privatellm_local.build.toolchain import Toolchain
from privatellm_local.errors import BuildError
from privatellm_local.paths import CachePaths
from privatellm_local.progress import Progress

LIST_ATTEMPTS = 3
"""Reading the module graph downloads modules; that is tried again, because networks hiccup."""

LOCK_POLL_SECONDS = 0.5

STALE_PACKAGES = "-f={{if .Stale}}{{.ImportPath}}{{end}}"
"""Makes ``go list`` name what a build would compile, and print an empty line for everything else."""

SCRATCH_PREFIX = ".build-"

PROGRAM_BYTES = machine.GIBIBYTE // 2
"""The programs of the control plane (325 MB)."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program of the control plane is, in the order of :data:`PROGRAMS`."""

    etcd: Path
    apiserver: Path
    controller_manager: Path
    scheduler: Path


async def ensure_programs(
    cache: CachePaths, progress: Progress, variables: Mapping[str, str] = os.environ
) -> Programs:
    """Return the control plane's programs, after building those that are missing.

    Args:
        cache: The user's cache directory.
        progress: Told what is built and how far it is.
        variables: The user's environment.

    Raises:
        BuildError: when a build fails; the message names the log. Also when ``KUBEBUILDER_ASSETS`` names
            a directory without all four, or with one that does not run.
        MachineError: when memory or disk do not suffice for a build.
        StateError: when the cache cannot be written.
    """
    found = given.programs(variables)
    if found is not None:
        await given.require_working(found)
        return Programs(*found)
    return Programs(*await ensure_built(PROGRAMS, cache, progress, variables))


async def ensure_built(
    programs: Sequence[Program],
    cache: CachePaths,
    progress: Progress,
    variables: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """Return where some programs are, after building those that are missing.

    Args:
        programs: Which programs.
        cache: The user's cache directory.
        progress: Told what is built and how far it is.
        variables: The user's environment.

    Raises:
        BuildError: when a build fails; the message names the log.
        MachineError: when memory or disk do not suffice for a build.
        StateError: when the cache cannot be written.
    """
    chain = toolchain.find()
    if await _missing(programs, cache, chain):
        async with _build_lock(cache, progress):
            # Looked up again under the lock: another process may have built them meanwhile.
            todo = await _missing(programs, cache, chain)
            await _build_all(todo, cache, chain, progress, variables)
    return tuple(kept.place(cache, chain.version, program) for program in programs)


async def _missing(
    programs: Sequence[Program], cache: CachePaths, chain: Toolchain
) -> tuple[Program, ...]:
    return await asyncio.to_thread(kept.missing, programs, cache, chain.version)


@asynccontextmanager
async def _build_lock(cache: CachePaths, progress: Progress) -> AsyncIterator[None]:
    with ExitStack() as stack:
        lock = cache.binaries / "build.lock"
        while not stack.enter_context(files.exclusive_lock(lock, wait=False)):
            stack.close()
            progress.update("another privatellm is building; waiting for it")
            await asyncio.sleep(LOCK_POLL_SECONDS)
        yield


async def _build_all(
    todo: Sequence[Program],
    cache: CachePaths,
    chain: Toolchain,
    progress: Progress,
    variables: Mapping[str, str],
) -> None:
    if not todo:
        return
    _remove_leftovers(cache)
    environment = toolchain.environment(chain, cache, variables)
    names = ", ".join(program.name for program in todo)
    _require_room(f"Building {names}", cache)
    for program in todo:
        if kept.place(cache, chain.version, program).exists():
            progress.note(f"the cached {program.name} is not what was built; it is built again")
    progress.note(
        f"building {names} from source; this happens once and takes {_expected(todo)} on two cores "
        f"(log: {_log(cache)})"
    )
    try:
        for position, program in enumerate(todo, start=1):
            state = BuildState(program.name, position, len(todo))
            target = kept.place(cache, chain.version, program)
            await _Build(program, target, chain, environment, _log(cache)).run(state, progress)
    finally:
        # Go leaves gibibytes behind when it is told to end; of a killed build the next one clears them.
        shutil.rmtree(toolchain.scratch(cache), ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Build:
    program: Program
    target: Path
    chain: Toolchain
    environment: Mapping[str, str]
    log: Path

    async def run(self, state: BuildState, progress: Progress) -> None:
        packages = await self._count_packages(state, progress)
        files.make_private_directory(self.target.parent)
        with tempfile.TemporaryDirectory(dir=self.target.parent, prefix=SCRATCH_PREFIX) as scratch:
            result = Path(scratch) / self.program.name
            await self._compile(result, replace(state, packages=packages), progress)
            await asyncio.to_thread(kept.keep, result, self.target)

    async def _count_packages(self, state: BuildState, progress: Progress) -> int:
        for attempt in range(1, LIST_ATTEMPTS + 1):
            outcome = await self._go(
                ("list", "-deps", *self.program.flags, STALE_PACKAGES, self.program.package),
                state,
                progress,
            )
            if outcome.code == 0:
                return sum(1 for line in outcome.output if line)
            if attempt < LIST_ATTEMPTS:
                progress.update(f"{self.program.name}: trying again ({complaint_of(outcome)})")
                await asyncio.sleep(attempt)
        raise self._failure("its modules could not be read", outcome)

    async def _compile(self, result: Path, state: BuildState, progress: Progress) -> None:
        outcome = await self._go(
            (
                "build",
                "-v",
                f"-p={parallelism(machine.processors(), machine.available_memory())}",
                *self.program.flags,
                f"-ldflags={self.program.linker_flags}",
                f"-o={result}",
                self.program.package,
            ),
            state,
            progress,
        )
        if outcome.code != 0:
            raise self._failure("it did not compile", outcome)

    async def _go(
        self, arguments: tuple[str, ...], state: BuildState, progress: Progress
    ) -> commands.Outcome:
        current = state

        def follow(line: str) -> None:
            nonlocal current
            current = current.after(line)
            progress.update(current.describe())

        progress.update(current.describe())
        with files.translated(self.log):
            return await commands.run(
                (str(self.chain.go), *arguments),
                directory=self.program.directory,
                environment=self.environment,
                log=self.log,
                on_line=follow,
            )

    def _failure(self, what: str, outcome: commands.Outcome) -> BuildError:
        return BuildError(
            f"{self.program.name} could not be built, {what}: {complaint_of(outcome)} "
            f"(see {self.log}; run the command again to go on from here)."
        )


def parallelism(processors: int, memory_bytes: int) -> int:
    """Return how many packages to compile at once: a compiler may take a gibibyte."""
    return max(1, min(processors, memory_bytes // machine.GIBIBYTE - 1))


def complaint_of(outcome: commands.Outcome) -> str:
    """Return the line that says why a command failed."""
    return complaint(list(outcome.last_errors))


def _expected(todo: Sequence[Program]) -> str:
    minutes = max(1, round(sum(program.minutes for program in todo)))
    return f"{minutes} minute{'s' if minutes > 1 else ''} or more"


def _require_room(purpose: str, cache: CachePaths) -> None:
    machine.require_memory(machine.BUILD_MEMORY_BYTES, purpose)
    for directory, needed in _disk_needs(cache).items():
        machine.require_disk(directory, needed, purpose)


def _disk_needs(cache: CachePaths) -> Mapping[Path, int]:
    """Return what a build may write, by one directory of each file system, in bytes."""
    needs: dict[int, tuple[Path, int]] = {}
    for directory, needed in (
        *toolchain.disk_needs(cache).items(),
        (cache.binaries, PROGRAM_BYTES),
    ):
        device = directory.stat().st_dev
        first, before = needs.get(device, (directory, 0))
        needs[device] = (first, before + needed)
    return dict(needs.values())


def _remove_leftovers(cache: CachePaths) -> None:
    # Of builds that were killed; the lock says that nobody is building now.
    scratch = (*cache.binaries.glob(f"*/{SCRATCH_PREFIX}*"), toolchain.scratch(cache))
    for directory in scratch:
        with files.translated(directory), suppress(FileNotFoundError):
            shutil.rmtree(directory)


def _log(cache: CachePaths) -> Path:
    return cache.root / "build.log"
