"""What an environment looks like from outside, gathered without touching anything.

Processes are read from files; operator and ForwardAuth service from the cluster, when it answers.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from privatellm.api.crds import all_crds
from privatellm_local import availability, cluster_objects, completion, readiness, state
from privatellm_local.addresses import AddressPlan
from privatellm_local.availability import Availability, Found
from privatellm_local.completion import Completion
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory
from privatellm_local.processes import holding, status
from privatellm_local.processes.holding import Role
from privatellm_local.processes.status import ComponentStatus, SupervisorStatus
from privatellm_local.workspaces import names as workspaces


class State(StrEnum):
    """How an environment is as a whole."""

    READY = "ready"
    """Everything that `up` set up is ready."""

    STARTING = "starting"
    """`up` is at work, or has not finished."""

    DEGRADED = "degraded"
    """`up` had finished, and something is not ready now."""

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
class UnderWay:
    """A command that works on the environment now."""

    command: str
    pid: int
    stage: str


@dataclass(frozen=True, slots=True)
class Overview:
    """An environment at one moment."""

    paths: StatePaths
    state: State
    plan: AddressPlan | None
    kubeconfig: Path | None
    components: tuple[Part, ...]
    platform: tuple[Availability, ...] = ()
    """Operator, ForwardAuth service and sync agent, as far as `up` has set them up."""

    missing_definitions: tuple[str, ...] = ()
    """CustomResourceDefinitions that `up` had made and somebody has deleted."""

    customer_kubeconfig: Path | None = None
    """Of a customer's workspace, in an environment with kcp."""

    under_way: UnderWay | None = None


async def look(paths: StatePaths, now: datetime) -> Overview:
    """Return what an environment looks like.

    Args:
        paths: The environment.
        now: The time, with a time zone.

    Raises:
        StateError: when its state cannot be read.
    """
    remembered = state.load(paths)
    current = status.read_living(paths)
    done = completion.read(paths)
    kubeconfig = paths.kubeconfig(inventory.ADMIN.name)
    has_workspaces = remembered is not None and remembered.kcp
    parts = _platform_parts(done, has_workspaces=has_workspaces)
    found = await availability.look(kubeconfig, parts, _definitions(done)) if done else Found()
    customer = paths.kubeconfig(workspaces.CUSTOMER_KUBECONFIG)
    under_way = _under_way(paths)
    return Overview(
        paths=paths,
        state=_state(current, done, found, under_way),
        plan=remembered.addresses if remembered else None,
        kubeconfig=kubeconfig if kubeconfig.exists() else None,
        components=_parts(current, now),
        platform=found.parts,
        missing_definitions=found.missing_definitions,
        under_way=under_way,
        customer_kubeconfig=customer if has_workspaces and customer.exists() else None,
    )


def _platform_parts(done: Completion | None, *, has_workspaces: bool) -> tuple[str, ...]:
    if done is None or not done.platform:
        return ()
    return (*availability.PARTS, *(availability.KCP_PARTS if has_workspaces else ()))


def _definitions(done: Completion) -> frozenset[str]:
    ours = {crd["metadata"]["name"] for crd in all_crds()} if done.platform else set()
    return cluster_objects.edge_definitions() | ours


def _state(
    current: SupervisorStatus | None,
    done: Completion | None,
    found: Found,
    under_way: UnderWay | None,
) -> State:
    if (current and current.stopping) or (under_way and under_way.command == Role.DOWN):
        return State.STOPPING
    if current is None:
        return State.STARTING if under_way else State.STOPPED
    if done is None:
        return State.STARTING
    is_whole = all(part.is_available for part in found.parts) and not found.missing_definitions
    return State.READY if readiness.are_ready(current) and is_whole else State.DEGRADED


def _under_way(paths: StatePaths) -> UnderWay | None:
    holder = holding.living(paths.lock_file)
    if holder is None or holder.process is None:
        return None
    return UnderWay(command=holder.role, pid=holder.process.pid, stage=holder.stage)


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
        message="" if current.generation else "has not said yet what it runs",
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
