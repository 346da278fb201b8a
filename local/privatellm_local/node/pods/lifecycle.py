"""What to do next for a pod: a pure function of its spec, its containers' states and the time.

The worker asks again after everything it does and everything that happens, so one answer holds only
what can be done now, and when to ask again at the latest. Native sidecars (init containers with
``restartPolicy: Always``) and ``activeDeadlineSeconds`` are not supported.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from privatellm_local.node.config import Timings
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.pods.states import (
    ContainerState,
    PodState,
    Running,
    Terminated,
    Waiting,
)


class Phase(StrEnum):
    """Where a pod is in its life."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container."""

    container: Container


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop a container that runs."""

    container: Container
    grace_seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be done now."""

    steps: tuple[Start | Stop, ...] = ()
    wake_at: datetime | None = None
    """When to ask again even if nothing happens."""

    finished: bool = False
    """Nothing runs and nothing ever will: a terminating pod can be removed."""


def plan(pod: Pod, state: PodState, now: datetime, timings: Timings) -> Plan:
    """Decide what to do next.

    Args:
        pod: The pod as last seen.
        state: What its containers do.
        now: The time.
        timings: How long restarts are put off.
    """
    # Its own history or the present says that it ended: nothing may start, and nothing stays behind.
    if state.terminating or phase(pod, state) in {Phase.SUCCEEDED, Phase.FAILED}:
        return _wind_down(pod, state)
    current = _current(pod, state)
    wishes = [_wish(pod, c, state.of(c.name), now, timings) for c in current]
    return Plan(
        steps=tuple(wish for wish in wishes if isinstance(wish, Start | Stop)),
        wake_at=min((wish for wish in wishes if isinstance(wish, datetime)), default=None),
    )


def phase(pod: Pod, state: PodState) -> Phase:
    """Return the pod's phase, which never leaves Succeeded or Failed again."""
    if pod.finished:
        return Phase(pod.status.phase)
    if _initializing(pod, state):
        failed = _ended_for_good(pod, _states(pod.spec.init_containers, state), succeeded=False)
        return Phase.FAILED if failed else Phase.PENDING
    states = list(_states(pod.spec.containers, state))
    if any(isinstance(s.state, Waiting) and s.last is None for s in states):
        return Phase.PENDING
    if any(s.running for s in states):
        return Phase.RUNNING
    if all(isinstance(s.state, Terminated) for s in states):
        return _final(pod, states, terminating=state.terminating)
    return Phase.RUNNING


def initialized(pod: Pod, state: PodState) -> bool:
    """Say whether every init container has completed."""
    return not _initializing(pod, state)


def backoff(crashes: int, timings: Timings) -> timedelta:
    """Return the pause before the next run: none at first, then doubling up to the limit."""
    if crashes <= 1:
        return timedelta()
    doubled = timings.restart_backoff * 2.0 ** min(crashes - 2, 32)
    return timedelta(seconds=min(doubled, timings.restart_backoff_limit))


def restartable(pod: Pod, state: ContainerState) -> bool:
    """Say whether the pod's policy wants an ended container to run again."""
    if pod.spec.restart_policy == "OnFailure":
        return not state.completed
    return pod.spec.restart_policy == "Always"


def _wind_down(pod: Pod, state: PodState) -> Plan:
    running = [c for c in pod.all_containers if state.of(c.name).running]
    steps = tuple(Stop(c, pod.grace_seconds) for c in running if not _stopping(state.of(c.name)))
    return Plan(steps, finished=not running)


def _current(pod: Pod, state: PodState) -> tuple[Container, ...]:
    """Return the containers whose turn it is: the first unfinished init container, or all others."""
    for container in pod.spec.init_containers:
        if not state.of(container.name).completed:
            return (container,)
    return pod.spec.containers


def _wish(
    pod: Pod, container: Container, container_state: ContainerState, now: datetime, timings: Timings
) -> Start | Stop | datetime | None:
    """Return what one container needs now, or when it will need something."""
    match container_state.state:
        case Running(stopping=True):
            return None
        case Running():
            return _stop_unhealthy(pod, container, container_state)
        case Waiting(retry_at=due):
            return Start(container) if due is None or due <= now else due
        case Terminated(finished_at=finished_at):
            if not _runs_again(pod, container, container_state):
                return None
            due = finished_at + backoff(container_state.crashes, timings)
            return Start(container) if due <= now else due


def _runs_again(pod: Pod, container: Container, state: ContainerState) -> bool:
    # An init container that completed is done under every policy.
    init = container in pod.spec.init_containers
    return restartable(pod, state) and not (init and state.completed)


def _stop_unhealthy(pod: Pod, container: Container, state: ContainerState) -> Stop | None:
    if not state.failed_probe:
        return None
    probe = container.liveness_probe if state.started else container.startup_probe
    own = probe.termination_grace_period_seconds if probe else None
    return Stop(container, pod.spec.termination_grace_period_seconds if own is None else own)


def _stopping(state: ContainerState) -> bool:
    return isinstance(state.state, Running) and state.state.stopping


def _initializing(pod: Pod, state: PodState) -> bool:
    return any(not s.completed for s in _states(pod.spec.init_containers, state))


def _ended_for_good(pod: Pod, states: Iterable[ContainerState], *, succeeded: bool) -> bool:
    ended = (s for s in states if isinstance(s.state, Terminated) and s.completed is succeeded)
    return any(not restartable(pod, s) for s in ended)


def _final(pod: Pod, states: list[ContainerState], *, terminating: bool) -> Phase:
    if not terminating and any(restartable(pod, s) for s in states):
        return Phase.RUNNING
    return Phase.SUCCEEDED if all(s.completed for s in states) else Phase.FAILED


def _states(containers: Iterable[Container], state: PodState) -> Iterator[ContainerState]:
    return (state.of(container.name) for container in containers)
