from typing import Any

import pytest

from node_builders import EARLIER, NOW, ended, finished, manifest, pod, report, running, state
from privatellm_local.node.errors import WaitingReason
from privatellm_local.node.pod import Pod
from privatellm_local.node.pods import status
from privatellm_local.node.pods.states import ContainerState, PodState, Running, Waiting

LONG_AGO = "2026-01-01T00:00:00Z"


def written(of: Pod, its: PodState) -> dict[str, Any]:
    patch: dict[str, Any] = status.patch(report(of, its), NOW)["status"]
    return patch


def condition(of: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in of["conditions"] if c["type"] == name)


def test_a_ready_pod_says_so_everywhere() -> None:
    """A Deployment needs the condition, people read the rest."""
    found = written(pod(), state(web=running()))

    assert found["phase"] == "Running"
    assert {c["type"]: c["status"] for c in found["conditions"]} == {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    assert found["containerStatuses"][0]["ready"]
    assert found["containerStatuses"][0]["state"] == {
        "running": {"startedAt": "2026-11-30T11:59:50Z"}
    }
    assert found["podIP"] == "127.111.0.7"
    assert found["podIPs"] == [{"ip": "127.111.0.7"}]
    assert found["hostIP"] == "127.0.0.1"


def test_the_patch_is_for_this_pod_and_no_namesake() -> None:
    """The API server refuses a patch whose UID does not fit."""
    assert status.patch(report(pod(), state(web=running())), NOW)["metadata"] == {"uid": "uid-1"}


@pytest.mark.parametrize(
    ("before", "since"), [("True", LONG_AGO), ("False", "2026-11-30T12:00:00Z")]
)
def test_the_transition_time_moves_only_on_a_change(before: str, since: str) -> None:
    """Otherwise ``minReadySeconds`` would never be over."""
    reported = {"type": "Ready", "status": before, "lastTransitionTime": LONG_AGO}
    subject = pod(status={"conditions": [reported]})

    assert condition(written(subject, state(web=running())), "Ready")["lastTransitionTime"] == since


def test_a_terminating_pod_is_not_ready_whatever_its_probes_say() -> None:
    """Traffic would go to a pod that is about to die."""
    found = written(pod(), state(terminating=True, web=running()))

    assert condition(found, "Ready")["status"] == "False"
    assert not found["containerStatuses"][0]["ready"]


def test_an_unready_container_is_named() -> None:
    """People see which one it is."""
    ready = condition(written(pod(), state(web=running(ready=False))), "Ready")

    assert ready["reason"] == "ContainersNotReady"
    assert "web" in ready["message"]


@pytest.mark.parametrize(
    ("its", "expected"),
    [
        (ContainerState(), {"waiting": {"reason": "ContainerCreating"}}),
        (
            ContainerState(Waiting(WaitingReason.ERR_IMAGE_NEVER_PULL, "no image")),
            {"waiting": {"reason": "ErrImageNeverPull", "message": "no image"}},
        ),
        (
            finished(3, crashes=3),
            {
                "waiting": {
                    "reason": "CrashLoopBackOff",
                    "message": "back-off 2s restarting failed container web",
                }
            },
        ),
        (
            finished(3, crashes=1),
            {
                "terminated": {
                    "exitCode": 3,
                    "reason": "Error",
                    "startedAt": "2026-11-30T12:00:00Z",
                    "finishedAt": "2026-11-30T12:00:00Z",
                }
            },
        ),
    ],
)
def test_each_state_is_reported_in_a_kubelets_words(
    its: ContainerState, expected: dict[str, Any]
) -> None:
    """Operators and people know these words."""
    assert written(pod(), state(web=its))["containerStatuses"][0]["state"] == expected


def test_a_container_in_back_off_shows_its_last_run() -> None:
    """The exit code and message are what people look for."""
    found = written(pod(), state(web=finished(3, crashes=3)))["containerStatuses"][0]

    assert found["lastState"]["terminated"]["exitCode"] == 3


def test_a_restarted_container_shows_its_last_run_and_counts() -> None:
    """After the back-off as well."""
    again = finished(3).begin(NOW)
    found = written(pod(), state(web=again))["containerStatuses"][0]

    assert found["restartCount"] == 1
    assert found["lastState"]["terminated"]["exitCode"] == 3
    assert "running" in found["state"]


def test_containers_behind_init_containers_wait_for_them() -> None:
    """The pod is not initialized, and says which container is missing."""
    subject = pod(initContainers=[{"name": "init"}])
    found = written(subject, state(init=running(), web=ContainerState()))

    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert condition(found, "Initialized")["status"] == "False"
    assert "init" in condition(found, "Initialized")["message"]
    assert found["phase"] == "Pending"


def test_a_completed_init_container_is_ready() -> None:
    """It did what it had to do."""
    subject = pod(initContainers=[{"name": "init"}])
    found = written(subject, state(init=finished(0), web=running()))

    assert found["initContainerStatuses"][0]["ready"]


def test_a_signal_and_a_message_are_passed_on() -> None:
    """The end of a long message is what matters."""
    death = ended(137)
    its = ContainerState(
        type(death)(137, death.reason, NOW, EARLIER, signal=9, message="x" * 5000 + "the end")
    )
    found = written(pod(restartPolicy="Never"), state(web=its))["containerStatuses"][0]["state"]

    assert found["terminated"]["signal"] == 9
    assert found["terminated"]["message"].endswith("the end")
    assert len(found["terminated"]["message"]) == status.MESSAGE_BYTES


def test_an_address_that_changed_replaces_the_list() -> None:
    """Merged, the pod would have two addresses, which the API server refuses."""
    subject = pod(status={"podIP": "127.9.9.9"})

    assert written(subject, state(web=running()))["podIPs"] == [
        {"$patch": "replace"},
        {"ip": "127.111.0.7"},
    ]


def merged(patch: dict[str, Any]) -> dict[str, Any]:
    """Return the object as the API server has it after the patch."""
    conditions = [
        {key: value for key, value in c.items() if value is not None}
        for c in patch["status"]["conditions"]
    ]
    foreign = {"type": "PodReadyToStartContainers", "status": "True"}
    return manifest(
        status={**patch["status"], "qosClass": "Burstable", "conditions": [foreign, *conditions]}
    )


def test_what_was_written_needs_no_second_write() -> None:
    """A settled pod costs the API server nothing, in spite of what others add."""
    subject, its = pod(), state(web=running())
    patch = status.patch(report(subject, its), NOW)

    assert status.settled(patch, merged(patch))
    assert not status.settled(patch, manifest())


def test_a_condition_that_somebody_else_turned_is_written_again() -> None:
    """The node controller marks pods unready when the agent was away for long."""
    patch = status.patch(report(pod(), state(web=running())), NOW)
    live = merged(patch)
    for entry in live["status"]["conditions"]:
        if entry["type"] == "Ready":
            entry["status"] = "False"

    assert not status.settled(patch, live)


def test_a_new_run_is_a_change() -> None:
    """The restart count and the start are told."""
    subject = pod()
    old = merged(status.patch(report(subject, state(web=running())), NOW))
    new = status.patch(report(subject, state(web=ContainerState(Running(NOW), ended(1), 1))), NOW)

    assert not status.settled(new, old)
