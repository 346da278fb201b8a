"""What the API server is told about a pod: a pure function of what is known.

The result is a strategic-merge patch that carries the pod's UID, so that it never lands on a re-created
pod of the same name. Conditions are merged by type, so those of others (the scheduler's) stay;
``lastTransitionTime`` moves only when a condition changes, because ``minReadySeconds`` counts from it.
Readiness gates are not supported: a pod is ready when its containers are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from privatellm.kube import Manifest
from privatellm_local.node.config import Timings
from privatellm_local.node.errors import WaitingReason
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.pods import lifecycle
from privatellm_local.node.pods.lifecycle import Phase
from privatellm_local.node.pods.states import (
    ContainerState,
    PodState,
    Running,
    Terminated,
    Waiting,
)

MESSAGE_BYTES = 4096
"""The longest termination message that a kubelet passes on."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a pod's status is made of."""

    pod: Pod
    state: PodState
    pod_ip: str
    host_ip: str
    accepted_at: datetime
    """When the node took the pod on; an earlier time that was already reported wins."""

    timings: Timings

    @property
    def ready(self) -> bool:
        """Requests may be sent to the pod."""
        return not self.state.terminating and not self.unready

    @property
    def unready(self) -> list[str]:
        """Names of the containers that are not ready."""
        return [c.name for c in self.pod.spec.containers if not self.state.of(c.name).ready]

    @property
    def phase(self) -> Phase:
        """The pod's phase."""
        return lifecycle.phase(self.pod, self.state)


def patch(report: Report, now: datetime) -> Manifest:
    """Return the patch of the pod's ``status`` subresource."""
    pod = report.pod
    status: Manifest = {
        "phase": str(report.phase),
        "startTime": timestamp(pod.status.start_time or report.accepted_at),
        "hostIP": report.host_ip,
        "hostIPs": [{"ip": report.host_ip}],
        "podIP": report.pod_ip,
        "podIPs": _addresses(report),
        "conditions": _conditions(report, now),
        "containerStatuses": [_container(c, report) for c in pod.spec.containers],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_container(c, report) for c in pod.spec.init_containers]
    if pod.metadata.generation is not None:
        status["observedGeneration"] = pod.metadata.generation
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}


def settled(wanted: Manifest, live: Manifest) -> bool:
    """Say whether a live object's status already says what a patch wants it to say."""
    target, actual = dict(wanted["status"]), live.get("status", {})
    conditions = {c["type"]: c for c in actual.get("conditions", [])}
    right = all(_within(c, conditions.get(c["type"], {})) for c in target.pop("conditions"))
    return right and _within(target, actual)


def timestamp(moment: datetime) -> str:
    """Return a time as Kubernetes stores it, which is to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _addresses(report: Report) -> list[Manifest]:
    # The list is merged by address; a second address of one family would be refused.
    wanted = [{"ip": report.pod_ip}]
    moved = report.pod.status.pod_ip not in {"", report.pod_ip}
    return [{"$patch": "replace"}, *wanted] if moved else wanted


def _conditions(report: Report, now: datetime) -> list[Manifest]:
    return [_dated(condition, report.pod, now) for condition in _wanted_conditions(report)]


def _wanted_conditions(report: Report) -> Iterator[Manifest]:
    yield _condition("PodScheduled", holds=True)
    if lifecycle.initialized(report.pod, report.state):
        yield _condition("Initialized", holds=True)
    else:
        yield _condition("Initialized", "ContainersNotInitialized", _incomplete(report))
    for name in ("ContainersReady", "Ready"):
        if report.ready:
            yield _condition(name, holds=True)
        else:
            yield _condition(name, *_why_unready(report))


def _condition(
    name: str, reason: str | None = None, message: str | None = None, *, holds: bool = False
) -> Manifest:
    # Null removes a reason of an earlier state, which a strategic merge would keep.
    return {"type": name, "status": str(holds), "reason": reason, "message": message}


def _dated(condition: Manifest, pod: Pod, now: datetime) -> Manifest:
    before = next((c for c in pod.status.conditions if c.type == condition["type"]), None)
    unchanged = before is not None and before.status == condition["status"]
    since = before.last_transition_time if before and unchanged else None
    return condition | {"lastTransitionTime": since or timestamp(now)}


def _incomplete(report: Report) -> str:
    inits = report.pod.spec.init_containers
    names = [c.name for c in inits if not report.state.of(c.name).completed]
    return f"containers with incomplete status: [{' '.join(names)}]"


def _why_unready(report: Report) -> tuple[str, str]:
    if report.phase is Phase.SUCCEEDED:
        return "PodCompleted", "The pod has ended."
    if report.phase is Phase.FAILED:
        return "PodFailed", "The pod has failed."
    if report.state.terminating:
        return "PodTerminating", "The pod is being deleted."
    return "ContainersNotReady", f"containers with unready status: [{' '.join(report.unready)}]"


def _container(container: Container, report: Report) -> Manifest:
    state = report.state.of(container.name)
    present, last = _present_and_last(container, state, report)
    uid = report.pod.metadata.uid
    status: Manifest = {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "restartCount": state.restarts,
        "ready": _is_ready(container, state, report),
        "started": state.started,
        "state": present,
        "lastState": {} if last is None else _state(last, report),
    }
    if not isinstance(state.state, Waiting):
        status["containerID"] = f"process://{uid}/{container.name}/{state.restarts}"
    return status


def _present_and_last(
    container: Container, state: ContainerState, report: Report
) -> tuple[Manifest, Terminated | None]:
    ended = state.state
    if isinstance(ended, Terminated) and _backing_off(container, state, report):
        pause = lifecycle.backoff(state.crashes, report.timings).total_seconds()
        message = f"back-off {pause:g}s restarting failed container {container.name}"
        waiting = Waiting(WaitingReason.CRASH_LOOP_BACK_OFF, message)
        return _state(waiting, report), ended
    return _state(ended, report), state.last


def _backing_off(container: Container, state: ContainerState, report: Report) -> bool:
    """Say whether an ended container waits for its next run."""
    if report.state.terminating or report.phase in {Phase.SUCCEEDED, Phase.FAILED}:
        return False
    done = container in report.pod.spec.init_containers and state.completed
    pause = lifecycle.backoff(state.crashes, report.timings)
    return bool(pause) and not done and lifecycle.restartable(report.pod, state)


def _is_ready(container: Container, state: ContainerState, report: Report) -> bool:
    # An init container is ready when it is done.
    init = container in report.pod.spec.init_containers
    return state.completed if init else state.ready and not report.state.terminating


def _state(state: Waiting | Running | Terminated, report: Report) -> Manifest:
    match state:
        case Waiting(reason=reason, message=message):
            untouched = reason is WaitingReason.CONTAINER_CREATING
            if untouched and not lifecycle.initialized(report.pod, report.state):
                reason = WaitingReason.POD_INITIALIZING
            return {"waiting": _filled(reason=str(reason), message=message)}
        case Running(started_at=started_at):
            return {"running": {"startedAt": timestamp(started_at)}}
        case Terminated():
            return {"terminated": _terminated(state)}


def _terminated(state: Terminated) -> Manifest:
    message = state.message.encode()[-MESSAGE_BYTES:].decode(errors="ignore")
    optional = _filled(
        signal=state.signal,
        message=message,
        startedAt=timestamp(state.started_at) if state.started_at else None,
    )
    return {
        "exitCode": state.exit_code,
        "reason": str(state.reason),
        "finishedAt": timestamp(state.finished_at),
        **optional,
    }


def _filled(**fields: Any) -> Manifest:
    """Return the fields that say something; the API server drops the others anyway."""
    return {name: value for name, value in fields.items() if value}


def _within(wanted: Any, live: Any) -> bool:
    if isinstance(wanted, dict):
        present = live if isinstance(live, dict) else {}
        return all(_within(value, present.get(key)) for key, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        same_length = isinstance(live, list) and len(live) == len(wanted)
        return same_length and all(map(_within, wanted, live))
    return bool(wanted == live)
