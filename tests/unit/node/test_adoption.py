from typing import Any

from node_builders import NOW, pod
from privatellm_local.node.pods.adoption import adopt
from privatellm_local.node.pods.states import ContainerState, Running, Terminated, TerminatedReason

FINISHED = {
    "terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-30T11:00:00Z"}
}
RUNNING = {"running": {"startedAt": "2026-11-30T11:00:00Z"}}


def adopted(
    state: dict[str, Any], restarts: int = 0, last: dict[str, Any] | None = None
) -> ContainerState:
    reported = {"name": "web", "restartCount": restarts, "state": state, "lastState": last or {}}
    return adopt(pod(status={"containerStatuses": [reported]}), NOW).of("web")


def test_a_new_pod_has_never_run() -> None:
    """Every container is waiting, and no restart is counted."""
    assert adopt(pod(), NOW).of("web") == ContainerState()


def test_what_was_running_is_lost_and_its_restart_counts() -> None:
    """The container is not ready, and starts at once."""
    lost = adopted(RUNNING, restarts=2)

    assert isinstance(lost.state, Terminated)
    assert lost.state.reason is TerminatedReason.UNKNOWN
    assert not lost.ready
    again = lost.begin(NOW)
    assert again.restarts == 3
    assert isinstance(again.state, Running)


def test_what_had_completed_stays_completed() -> None:
    """An init container that did its work does not do it twice."""
    assert adopted(FINISHED).completed


def test_a_container_in_back_off_keeps_its_history() -> None:
    """Its next run is a restart."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    crashed = {"terminated": {"exitCode": 9, "reason": "Error"}}

    again = adopted(waiting, restarts=4, last=crashed).begin(NOW)

    assert again.restarts == 5
    assert again.last is not None
    assert again.last.exit_code == 9


def test_a_pod_that_is_terminating_when_first_seen_is_known_as_such() -> None:
    """So that it is never started."""
    assert adopt(pod(metadata={"deletionTimestamp": NOW.isoformat()}), NOW).terminating
