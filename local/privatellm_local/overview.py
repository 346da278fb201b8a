"""What an environment looks like from outside, gathered from its files without touching anything."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from privatellm_local import completion, readiness, state
from privatellm_local.addresses import AddressPlan
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory
from privatellm_local.processes import status
from privatellm_local.processes.status import ComponentStatus, SupervisorStatus


class State(StrEnum):
    """How an environment is as a whole."""

    READY = "ready"
    """Everything that `up` set up is ready."""

    STARTING = "starting"
    """It runs, but `up` has not finished, or not every component is ready."""

    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Part:
    """One component for people and programs."""

    name: str
    state: str
    pid: int | None
    uptime_seconds: float | None
    restarts: int
    address: str
    message: str


@dataclass(frozen=True, slots=True)
class Overview:
    """An environment at one moment."""

    paths: StatePaths
    state: State
    plan: AddressPlan | None
    kubeconfig: Path | None
    components: tuple[Part, ...]


def look(paths: StatePaths, now: datetime) -> Overview:
    """Return what an environment looks like.

    Args:
        paths: The environment.
        now: The time, with a time zone.

    Raises:
        StateError: when its state cannot be read.
    """
    remembered = state.load(paths)
    current = status.read_living(paths)
    kubeconfig = paths.kubeconfig(inventory.ADMIN.name)
    return Overview(
        paths=paths,
        state=_state(paths, current),
        plan=remembered.addresses if remembered else None,
        kubeconfig=kubeconfig if kubeconfig.exists() else None,
        components=_parts(current, now),
    )


def _state(paths: StatePaths, current: SupervisorStatus | None) -> State:
    if current is None:
        return State.STOPPED
    if current.stopping:
        return State.STOPPING
    is_complete = completion.read(paths) is not None and readiness.are_ready(current)
    return State.READY if is_complete else State.STARTING


def _parts(current: SupervisorStatus | None, now: datetime) -> tuple[Part, ...]:
    if current is None:
        return ()
    supervisor = Part(
        name="supervisor",
        state=State.STOPPING if current.stopping else State.READY,
        pid=current.supervisor.pid,
        uptime_seconds=(now - current.started_at).total_seconds(),
        restarts=0,
        address="",
        message="",
    )
    return (supervisor, *(_part(item, now) for item in current.components))


def _part(item: ComponentStatus, now: datetime) -> Part:
    uptime = (now - item.started_at).total_seconds() if item.started_at else None
    return Part(
        name=item.name,
        state=item.state,
        pid=item.process.pid if item.process else None,
        uptime_seconds=uptime,
        restarts=item.restarts,
        address=item.address,
        message=item.message,
    )
