"""Wait until what the supervisor runs is ready, and say early and clearly when it will not be."""

import asyncio
import time
from collections.abc import Iterable

from privatellm_local.errors import StartError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import logs, status
from privatellm_local.processes.status import ComponentState, ComponentStatus, SupervisorStatus
from privatellm_local.progress import Progress

POLL_SECONDS = 0.1

HOPELESS_RESTARTS = 3
"""A component that ended this often without ever becoming ready will not do better next time."""

START_SECONDS = 120.0
"""How long all components together may take; seconds on an idle machine."""


async def wait_until_ready(
    paths: StatePaths, generation: str, progress: Progress
) -> SupervisorStatus:
    """Wait until every component of a generation is ready, and return the status that says so.

    Args:
        paths: The environment.
        generation: Digest of the components file that must have been read.
        progress: Told what is waited for.

    Raises:
        StartError: when a component does not become ready, with the last thing it said.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        current = status.read_living(paths)
        if current is None:
            raise StartError(_supervisor_ended(paths))
        if current.generation == generation:
            if are_ready(current):
                return current
            _require_hope(paths, current.components)
            progress.update("waiting for " + ", ".join(_unready(current.components)))
        await asyncio.sleep(POLL_SECONDS)
    raise StartError(_too_slow(paths))


def are_ready(current: SupervisorStatus) -> bool:
    """Return whether every component is ready; while none was reported, none is."""
    items = current.components
    return bool(items) and all(item.state is ComponentState.READY for item in items)


def _unready(components: Iterable[ComponentStatus]) -> list[str]:
    return [item.name for item in components if item.state is not ComponentState.READY]


def _require_hope(paths: StatePaths, components: Iterable[ComponentStatus]) -> None:
    for item in components:
        if item.restarts < HOPELESS_RESTARTS or item.state is ComponentState.READY:
            continue
        if item.cause_is_known:
            raise StartError(
                f"{item.name} does not stay up, it {item.message} (see {paths.log(item.name)})."
            )


def _supervisor_ended(paths: StatePaths) -> str:
    log = paths.log("supervisor")
    said = " ".join(logs.tail(log)) or "it said nothing"
    return f"The supervisor ended while components were starting: {said} (see {log})."


def _too_slow(paths: StatePaths) -> str:
    current = status.read(paths)
    names = _unready(current.components) if current else []
    first = names[0] if names else "supervisor"
    said = " ".join(logs.tail(paths.log(first))) or "it said nothing"
    return (
        f"{', '.join(names)} did not become ready within {START_SECONDS:.0f} s; {first} said last: "
        f"{said} (see {paths.log(first)})."
    )
