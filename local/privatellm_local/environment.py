"""Bring an environment up, and down again.

``up`` runs the steps; ``down`` stops every process and, if asked, forgets everything. A start that
fails or is interrupted leaves no process behind, with one exception: a detached environment whose
cluster already works keeps running, so that one can look at what failed inside it. A first start that is
refused before it started a process leaves no directory either.
"""

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from privatellm.errors import PrivateLLMError
from privatellm_local import completion, demo, files, machine, slots, state
from privatellm_local.addresses import AddressPlan
from privatellm_local.errors import EmbeddedError, NotRunningError, StartError
from privatellm_local.locking import WithdrawnError, turn
from privatellm_local.node import leftovers
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.processes import control, status
from privatellm_local.processes.holding import Role
from privatellm_local.processes.identity import exited
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import Heartbeat, Progress
from privatellm_local.steps import Context, Options, Step, steps_for


@dataclass(frozen=True, slots=True)
class Running:
    """An environment that is ready."""

    paths: StatePaths
    plan: AddressPlan
    supervisor: SupervisorStatus
    was_running: bool
    """Every process was there and well."""

    answer: str | None = None
    """What the demo's model said, when it was asked."""

    demo_ended: demo.Ended | None = None
    """Why the demo was not asked: its user has ended this."""

    has_kcp: bool = False
    """There are workspaces, and a customer's kubeconfig."""


async def up(options: Options, progress: Progress) -> Running:
    """Bring an environment up and return when everything in it is ready.

    Args:
        options: What the user asked for.
        progress: Told what happens.

    Raises:
        PrivateLLMError: with one line that says what is wrong and what to do.
    """
    machine.require_linux()
    state.require_usable_path(options.paths)
    state.require_apart(options.paths)
    state.require_usable(options.paths)
    absent = files.absent(options.paths.root)
    files.make_private_directory(options.paths.root)
    options = _with_remembered(options)
    async with turn(options.paths, progress, Role.UP) as ours:
        heartbeat = Heartbeat(progress, ours.say)
        context = Context(options, heartbeat)
        # Asked while we hold the lock: another `up` may have been here since we made the directory.
        is_new = state.is_untouched(options.paths)
        was_complete = completion.is_complete(options.paths, **_wanted(options))
        try:
            async with heartbeat.beating():
                await _run_steps(context, steps_for(options, is_complete=was_complete))
        except BaseException as error:
            await _clean_up(context, error)
            if is_new and isinstance(error, PrivateLLMError) and not context.has_started_supervisor:
                _withdraw(options.paths, absent)
            raise
        if not was_complete:
            _record(context)
    return replace(
        _running(options.paths, was_running=was_complete),
        answer=context.answer,
        demo_ended=context.demo_ended,
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """What ``down`` found and ended."""

    was_running: bool
    """There was a process, or an ``up`` under way."""

    was_removed: bool
    """There was a state directory of ours, and it is gone now."""


async def down(paths: StatePaths, cache: CachePaths, progress: Progress, *, purge: bool) -> Ended:
    """Stop every process of an environment and tell what there was.

    Args:
        paths: The environment.
        cache: The user's cache directory.
        progress: Told what happens.
        purge: Remove the state directory too, with the cluster's data.

    Raises:
        StateError: when the directory holds something else, or cannot be removed.
    """
    state.require_usable(paths)
    if not state.is_environment(paths):
        return Ended(was_running=False, was_removed=False)
    if purge:
        state.require_only_ours(paths)
    try:
        return await _end(paths, cache, progress, purge=purge)
    except WithdrawnError:
        return Ended(was_running=False, was_removed=False)


async def attend(running: Running, progress: Progress) -> None:
    """Stay with an attached environment until it is stopped; stop it when we are cancelled.

    Raises:
        StartError: when the supervisor ended although nobody asked it to.
    """
    try:
        await exited(running.supervisor.supervisor)
    except asyncio.CancelledError:
        progress.note("stopping")
        await control.stop(running.paths)
        leftovers.sweep(running.paths.node)
        return
    if not running.paths.state_file.exists():
        raise StartError(f"{running.paths.root} was removed, so everything in it was stopped.")
    last = status.read(running.paths)
    if last is None or not last.stopping:
        log = running.paths.log("supervisor")
        raise StartError(f"The supervisor ended by itself (see {log}): run `privatellm up` again.")


def require_running(paths: StatePaths) -> Running:
    """Return the running environment.

    Raises:
        NotRunningError: when it does not run.
        StateError: when its state cannot be read.
    """
    if state.load(paths) is None or status.read_living(paths) is None:
        raise NotRunningError(
            f"No environment runs in {paths.root}: start one with `privatellm up`, or name another "
            "directory with --state DIR."
        )
    return _running(paths, was_running=True)


async def _run_steps(context: Context, steps: tuple[Step, ...]) -> None:
    for step in steps:
        context.progress.begin(step.name)
        context.progress.end(await step.run(context))


async def _end(paths: StatePaths, cache: CachePaths, progress: Progress, *, purge: bool) -> Ended:
    async with turn(paths, progress, Role.DOWN) as ours:
        was_running = await control.stop(paths)
        # What a killed node could not take with it.
        has_swept = bool(leftovers.sweep(paths.node))
        if purge:
            slots.release(cache, paths)
            with files.translated(paths.root):
                shutil.rmtree(paths.root)
    return Ended(was_running=was_running or has_swept or ours.has_interrupted, was_removed=purge)


def _record(context: Context) -> None:
    current = status.read_living(context.paths)
    if current is not None:
        completion.record(context.paths, current, **_wanted(context.options))


def _wanted(options: Options) -> dict[str, bool]:
    """Return what is set up in the cluster; demo and workspaces need the platform."""
    return {
        "platform": options.platform,
        "demo": options.demo and options.platform,
        "kcp": options.kcp and options.platform,
    }


def _with_remembered(options: Options) -> Options:
    """Keep the workspaces of an environment that has some; they go with the environment."""
    remembered = state.load(options.paths)
    return replace(options, kcp=options.kcp or (remembered is not None and remembered.kcp))


async def _clean_up(context: Context, error: BaseException) -> None:
    if not context.has_started_supervisor:
        return
    is_worth_a_look = isinstance(error, Exception) and context.has_cluster
    if is_worth_a_look and not context.options.attached:
        context.progress.note(
            "the cluster keeps running: look with `privatellm status`, try again with "
            "`privatellm up`, stop with `privatellm down`"
        )
        return
    context.progress.note("stopping what was started")
    await control.stop(context.paths)
    leftovers.sweep(context.paths.node)


def _withdraw(paths: StatePaths, absent: tuple[Path, ...]) -> None:
    """Remove what a first ``up`` has made that was refused; nothing ran in it yet."""
    # What cannot be removed must not hide why `up` was refused.
    with suppress(OSError):
        for entry in paths.root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        for directory in absent:
            directory.rmdir()


def _running(paths: StatePaths, *, was_running: bool) -> Running:
    remembered, current = state.load(paths), status.read_living(paths)
    if remembered is None or current is None:
        raise EmbeddedError("The environment ended a moment ago: run `privatellm up` again.")
    return Running(
        paths, remembered.addresses, current, was_running=was_running, has_kcp=remembered.kcp
    )
