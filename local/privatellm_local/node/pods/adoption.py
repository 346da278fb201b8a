"""What an agent believes about a pod that it sees for the first time.

A pod may have been run by an earlier agent. Nothing it ran is still running (see :mod:`..process`), so
whatever the API server reports as running has ended in a way nobody saw. Runs that ended, and how often
each container was started, are taken over, so finished init containers do not run twice.
"""

from datetime import datetime

from privatellm_local.node.pod import ContainerStatus, Pod, TerminatedStatus
from privatellm_local.node.pods.states import (
    ContainerState,
    PodState,
    Terminated,
    TerminatedReason,
)

_KILLED = 137


def adopt(pod: Pod, now: datetime) -> PodState:
    """Return the state of a pod that no process of ours belongs to."""
    reported = {
        status.name: status
        for status in pod.status.init_container_statuses + pod.status.container_statuses
    }
    return PodState(
        containers={c.name: _adopt(reported.get(c.name), now) for c in pod.all_containers},
        terminating=pod.terminating,
    )


def _adopt(status: ContainerStatus | None, now: datetime) -> ContainerState:
    if status is None:
        return ContainerState()
    last = _ended(status.last_state.terminated, now)
    known = ContainerState(last=last, restarts=status.restart_count)
    if status.state.terminated:
        return known.end(_terminated(status.state.terminated, now), soon=False)
    if status.state.running is not None:
        return known.end(_lost(now), soon=False)
    return known


def _ended(status: TerminatedStatus | None, now: datetime) -> Terminated | None:
    return None if status is None else _terminated(status, now)


def _terminated(status: TerminatedStatus, now: datetime) -> Terminated:
    known = status.reason in set(TerminatedReason)
    return Terminated(
        exit_code=status.exit_code,
        reason=TerminatedReason(status.reason) if known else TerminatedReason.UNKNOWN,
        started_at=status.started_at,
        finished_at=status.finished_at or now,
        signal=status.signal,
        message=status.message,
    )


def _lost(now: datetime) -> Terminated:
    return Terminated(
        exit_code=_KILLED,
        reason=TerminatedReason.UNKNOWN,
        finished_at=now,
        message="The host node's agent was restarted; its containers ended with it.",
    )
