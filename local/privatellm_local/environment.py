"""Bring an environment up, and down again.

``up`` runs the steps; ``down`` stops every process and, if asked, forgets everything. A start that
fails or is interrupted leaves no process behind, with one exception: a detached environment whose
cluster already works keeps running, so that one can look at what failed inside it.
"""

import asyncio
import shutil
from dataclasses import dataclass, replace

from privatellm_local import completion, files, machine, slots, state
from privatellm_local.addresses import AddressPlan
from privatellm_local.errors import EmbeddedError, NotRunningError, StartError
from privatellm_local.locking import turn
from privatellm_local.node import leftovers
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.processes import control, status
from privatellm_local.processes.identity import exited
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import Progress
from privatellm_local.steps import Context, Options, steps_for, with_edge_port


@dataclass(frozen=True, slots=True)
class Running:
    """An environment that is ready."""

    paths: StatePaths
    plan: AddressPlan
    supervisor: SupervisorStatus
    was_running: bool
    """There was nothing to do."""

    answer: str | None = None
    """What the demo's model said, when the demo ran now."""


async def up(options: Options, progress: Progress) -> Running:
    """Bring an environment up and return when everything in it is ready.

    Args:
        options: What the user asked for.
        progress: Told what happens.

    Raises:
        PrivateLLMError: with one line that says what is wrong and what to do.
    """
    machine.require_linux()
    state.require_usable(options.paths)
    files.make_private_directory(options.paths.root)
    async with turn(options.paths, progress, interrupt=False):
        if completion.is_complete(options.paths, demo=_demo(options), platform=options.platform):
            _require_same_port(options)
            return _running(options.paths, was_running=True)
        context = Context(options, progress)
        try:
            await _run_steps(context)
        except BaseException as error:
            await _clean_up(context, error)
            raise
    return replace(_running(options.paths, was_running=False), answer=context.answer)


async def down(paths: StatePaths, cache: CachePaths, progress: Progress, *, purge: bool) -> bool:
    """Stop every process of an environment and tell whether there was one.

    Args:
        paths: The environment.
        cache: The user's cache directory.
        progress: Told what happens.
        purge: Remove the state directory too, with the cluster's data.

    Raises:
        StateError: when the directory holds something else, or cannot be removed.
    """
    if not paths.root.exists():
        return False
    state.require_usable(paths)
    async with turn(paths, progress, interrupt=True):
        stopped = await control.stop(paths)
        # What a killed node could not take with it.
        stopped = bool(leftovers.sweep(paths.node)) or stopped
        if purge:
            slots.release(cache, paths)
            with files.translated(paths.root):
                shutil.rmtree(paths.root)
    return stopped


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


def _require_same_port(options: Options) -> None:
    existing = state.load(options.paths)
    if existing is not None:
        with_edge_port(existing, options.edge_port, is_running=True)


async def _run_steps(context: Context) -> None:
    for step in steps_for(context.options):
        context.progress.begin(step.name)
        context.progress.end(await step.run(context))
    current = status.read_living(context.paths)
    if current is not None:
        options = context.options
        completion.record(context.paths, current, demo=_demo(options), platform=options.platform)


def _demo(options: Options) -> bool:
    return options.demo and options.platform


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


def _running(paths: StatePaths, *, was_running: bool) -> Running:
    remembered, current = state.load(paths), status.read_living(paths)
    if remembered is None or current is None:
        raise EmbeddedError("The environment ended a moment ago: run `privatellm up` again.")
    return Running(paths, remembered.addresses, current, was_running)
