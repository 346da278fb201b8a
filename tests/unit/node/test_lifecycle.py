from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_builders import NOW, TIMINGS, ended, finished, pod, running, state
from privatellm_local.node.errors import WaitingReason
from privatellm_local.node.pod import Pod
from privatellm_local.node.pods import lifecycle
from privatellm_local.node.pods.lifecycle import Phase, Plan, Start, Stop
from privatellm_local.node.pods.states import ContainerState, PodState, Running, Waiting

WAITING = ContainerState()


def with_init(**fields: Any) -> Pod:
    return pod(initContainers=[{"name": "one"}, {"name": "two"}], **fields)


def plan(of: Pod, its: PodState) -> Plan:
    return lifecycle.plan(of, its, NOW, TIMINGS)


def started(its: Plan) -> list[str]:
    return [step.container.name for step in its.steps if isinstance(step, Start)]


def stopped(its: Plan) -> list[str]:
    return [step.container.name for step in its.steps if isinstance(step, Stop)]


def test_containers_start_together() -> None:
    """Without init containers nothing waits."""
    subject = pod({"name": "a"}, {"name": "b"})

    assert started(plan(subject, state(a=WAITING, b=WAITING))) == ["a", "b"]


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (WAITING, WAITING, ["one"]),
        (running(), WAITING, []),
        (finished(0), WAITING, ["two"]),
        (finished(0), running(), []),
        (finished(1), WAITING, ["one"]),
        (finished(0), finished(0), ["web"]),
    ],
)
def test_init_containers_run_one_after_the_other(
    one: ContainerState, two: ContainerState, expected: list[str]
) -> None:
    """Each waits for the one before, and the pod's containers wait for all."""
    assert started(plan(with_init(), state(one=one, two=two, web=WAITING))) == expected


def test_a_completed_init_container_does_not_run_again() -> None:
    """Neither because a later container ended, nor because the policy is Always."""
    its = state(one=finished(0), two=finished(0), web=finished(1))

    assert started(plan(with_init(), its)) == ["web"]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_restart_policy_decides_about_another_run(policy: str, code: int, again: bool) -> None:
    """As documented for pods."""
    subject = pod(restartPolicy=policy)

    assert bool(started(plan(subject, state(web=finished(code))))) is again


def test_the_pause_doubles_up_to_its_limit() -> None:
    """The first restart is immediate."""
    pauses = [lifecycle.backoff(n, TIMINGS).total_seconds() for n in (0, 1, 2, 3, 4, 8, 1000)]

    assert pauses == [0, 0, 1, 2, 4, 30, 30]


def test_a_crashing_container_waits_for_its_turn() -> None:
    """The plan says when to look again, and starts it then."""
    subject = pod()
    early = plan(subject, state(web=finished(1, crashes=3, seconds_ago=0.5)))
    due = plan(subject, state(web=finished(1, crashes=3, seconds_ago=2)))

    assert early == Plan(wake_at=NOW + timedelta(seconds=1.5))
    assert started(due) == ["web"]


def test_a_refused_container_is_tried_again_later() -> None:
    """What is missing may appear."""
    later = NOW + timedelta(seconds=2)
    refused = Waiting(WaitingReason.ERR_IMAGE_NEVER_PULL, "no", later)

    assert plan(pod(), state(web=ContainerState(refused))) == Plan(wake_at=later)


def test_a_container_that_its_probe_gave_up_is_stopped_once() -> None:
    """The probe's own grace period wins over the pod's."""
    subject = pod(
        {
            "name": "web",
            "livenessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 3},
        }
    )
    sick = running(failed_probe="no answer")
    stopping = ContainerState(Running(NOW, stopping=True), failed_probe="no answer")

    assert plan(subject, state(web=sick)).steps == (Stop(subject.spec.containers[0], 3),)
    assert plan(subject, state(web=stopping)) == Plan()


def test_a_terminating_pod_starts_nothing_and_stops_everything() -> None:
    """Within the grace period that the deletion asked for."""
    subject = pod(
        {"name": "a"},
        {"name": "b"},
        metadata={"deletionTimestamp": NOW.isoformat(), "deletionGracePeriodSeconds": 7},
    )
    decided = plan(subject, state(terminating=True, a=running(), b=WAITING))

    assert decided == Plan((Stop(subject.spec.containers[0], 7),))


@pytest.mark.parametrize("its", [WAITING, finished(0), finished(137)])
def test_a_terminating_pod_without_processes_is_over(its: ContainerState) -> None:
    """Also when it was terminating before it ever ran."""
    assert plan(pod(), state(terminating=True, web=its)) == Plan(finished=True)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_in_an_earlier_life_stays_ended(phase: str) -> None:
    """Whatever is known about its containers."""
    subject = pod(status={"phase": phase})

    assert plan(subject, state(web=WAITING)) == Plan(finished=True)
    assert stopped(plan(subject, state(web=running()))) == ["web"]


@pytest.mark.parametrize(
    ("policy", "states", "expected"),
    [
        ("Always", {"a": WAITING, "b": WAITING}, Phase.PENDING),
        ("Always", {"a": running(), "b": WAITING}, Phase.PENDING),
        ("Always", {"a": running(), "b": running()}, Phase.RUNNING),
        ("Always", {"a": finished(1), "b": finished(0)}, Phase.RUNNING),
        ("OnFailure", {"a": finished(0), "b": finished(0)}, Phase.SUCCEEDED),
        ("OnFailure", {"a": finished(1), "b": finished(0)}, Phase.RUNNING),
        ("Never", {"a": finished(1), "b": finished(0)}, Phase.FAILED),
        ("Never", {"a": finished(0), "b": running()}, Phase.RUNNING),
        ("Always", {"a": ContainerState(last=ended(1)), "b": finished(1)}, Phase.RUNNING),
    ],
)
def test_the_phase_follows_from_the_containers(
    policy: str, states: dict[str, ContainerState], expected: Phase
) -> None:
    """By the rules of a kubelet."""
    assert expected is lifecycle.phase(
        pod({"name": "a"}, {"name": "b"}, restartPolicy=policy), PodState(states)
    )


@pytest.mark.parametrize(
    ("policy", "one", "expected"),
    [
        ("Always", running(), Phase.PENDING),
        ("Always", finished(1), Phase.PENDING),
        ("Never", finished(1), Phase.FAILED),
        ("Never", finished(0), Phase.PENDING),
    ],
)
def test_the_phase_while_init_containers_run(
    policy: str, one: ContainerState, expected: Phase
) -> None:
    """A failed init container fails the pod only when it may not run again."""
    subject = with_init(restartPolicy=policy)

    assert expected is lifecycle.phase(subject, state(one=one, two=WAITING, web=WAITING))


STATES = st.sampled_from([WAITING, running(), finished(0), finished(1), finished(1, crashes=9)])


@given(st.sampled_from(["Always", "OnFailure", "Never"]), STATES, STATES, STATES, st.booleans())
def test_no_plan_contradicts_the_world(
    policy: str, one: ContainerState, two: ContainerState, web: ContainerState, terminating: bool
) -> None:
    """Only what runs is stopped, only what does not run is started, and never both at the end."""
    subject = with_init(restartPolicy=policy)
    its = state(terminating=terminating, one=one, two=two, web=web)

    decided = plan(subject, its)

    assert all(its.of(name).running for name in stopped(decided))
    assert not any(its.of(name).running for name in started(decided))
    assert not (decided.finished and (decided.steps or decided.wake_at))
    assert not (terminating and started(decided))
