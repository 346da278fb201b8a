import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_objects import (
    children,
    facts,
    instance,
    instance_manifest,
    model,
    pod,
    rolled_out,
    with_deployment_status,
    world,
)
from privatellm import conditions
from privatellm.api.llm_instance import (
    InstanceCondition,
    InstancePhase,
    LLMInstance,
    LLMInstanceStatus,
)
from privatellm.conditions import Condition, ConditionStatus
from privatellm.errors import ForbiddenError, RejectedError
from privatellm_operator.reconcile.instance.causes import cause_of
from privatellm_operator.reconcile.instance.checks import Fault
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.reasons import Reason
from privatellm_operator.reconcile.instance.status import (
    Outcome,
    phase_of,
    refusal_text,
    status_of,
    terminating,
)
from privatellm_operator.settings import PublicSettings

PUBLIC = PublicSettings(host="llm.example.com")
FETCHING = pod(init={"state": {"running": {}}}, server={"state": {"waiting": {}}})
LOADING = pod(
    init={"state": {"terminated": {"exitCode": 0}}},
    server={"ready": False, "state": {"running": {}}},
)

UNPLACED = pod(
    conditions=[
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient memory.",
        }
    ]
)
LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


def going(found: dict[str, Any]) -> dict[str, Any]:
    """Return a pod that is being deleted."""
    ended = {"deletionTimestamp": "2026-11-30T09:00:00Z"}
    return found | {"metadata": found["metadata"] | ended}


def failed_fetch(reason: str = "ChecksumMismatch", *, waiting: bool = False) -> dict[str, Any]:
    """Return a pod whose fetcher ended badly."""
    report = json.dumps({"reason": reason, "message": "The file has another digest."})
    ended = {"terminated": {"exitCode": 1, "message": f"{{}}\nnoise\n{report}\n"}}
    if waiting:
        return pod(init={"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended})
    return pod(init={"state": ended})


def seen(
    replicas: int = 1,
    *,
    pods: Iterable[Any] = (),
    deployed: dict[str, Any] | None = None,
    **more: Any,
) -> InstanceWorld:
    """Return the world after the writes of a pass."""
    ordered = instance(replicas=replicas)
    live = with_deployment_status(children(facts(ordered)), **(deployed or {}))
    return world(ordered, live=live, pods=pods, **more)


def status(of: InstanceWorld, **outcome: Any) -> LLMInstanceStatus:
    return status_of(of, Outcome(**outcome), PUBLIC)


def condition(of: LLMInstanceStatus, kind: InstanceCondition) -> Condition:
    found = conditions.find(of.conditions, kind)
    assert found is not None
    return found


PHASES = {
    "an order that is not accepted": (
        seen(),
        {"fault": Fault(Reason.UNKNOWN_MODEL, "no such model")},
        InstancePhase.FAILED,
        Reason.NOT_ACCEPTED,
    ),
    "no replicas": (seen(0), {}, InstancePhase.STOPPED, Reason.STOPPED),
    "nothing applied": (world(), {}, InstancePhase.PENDING, Reason.PENDING),
    "model on its way": (
        seen(pods=[FETCHING]),
        {},
        InstancePhase.PROVISIONING,
        Reason.FETCHING,
    ),
    "model being loaded": (
        seen(pods=[LOADING]),
        {},
        InstancePhase.PROVISIONING,
        Reason.STARTING,
    ),
    "middlewares on their way": (
        seen(middlewares=()),
        {},
        InstancePhase.PROVISIONING,
        Reason.MIDDLEWARES_MISSING,
    ),
    "all servers answer": (seen(2, deployed=rolled_out(2)), {}, InstancePhase.READY, Reason.READY),
    "rolling with one ready": (
        seen(2, deployed=rolled_out(2) | {"updatedReplicas": 1, "readyReplicas": 1}),
        {},
        InstancePhase.READY,
        Reason.ROLLING,
    ),
    "one ready, one broken": (
        seen(2, pods=[failed_fetch()], deployed=rolled_out(2) | {"readyReplicas": 1}),
        {},
        InstancePhase.DEGRADED,
        "ChecksumMismatch",
    ),
    "none ready, cause known": (
        seen(pods=[failed_fetch(waiting=True)]),
        {},
        InstancePhase.FAILED,
        "ChecksumMismatch",
    ),
    "no room for a server yet": (
        seen(pods=[UNPLACED]),
        {},
        InstancePhase.PROVISIONING,
        Reason.UNSCHEDULABLE,
    ),
    "no room for a server until its time was up": (
        seen(pods=[UNPLACED], deployed={"conditions": [LATE]}),
        {},
        InstancePhase.FAILED,
        Reason.DEADLINE_EXCEEDED,
    ),
    "one ready, no room for another": (
        seen(2, pods=[UNPLACED], deployed=rolled_out(2) | {"readyReplicas": 1}),
        {},
        InstancePhase.DEGRADED,
        Reason.UNSCHEDULABLE,
    ),
    "no server was begun": (seen(), {}, InstancePhase.PROVISIONING, Reason.FETCH_PENDING),
    "ready servers behind no route": (
        seen(deployed=rolled_out(1), traefik=False, middlewares=()),
        {},
        InstancePhase.DEGRADED,
        Reason.TRAEFIK_MISSING,
    ),
    "no Traefik": (
        seen(traefik=False, middlewares=()),
        {},
        InstancePhase.FAILED,
        Reason.TRAEFIK_MISSING,
    ),
    "a stopped instance without its route": (
        world(instance(replicas=0), middlewares=()),
        {},
        InstancePhase.PROVISIONING,
        Reason.MIDDLEWARES_MISSING,
    ),
    "a stopped instance with a refused write": (
        seen(0),
        {"refusal": "exceeded quota."},
        InstancePhase.FAILED,
        Reason.WRITE_REFUSED,
    ),
    "servers that a refused write could not stop": (
        seen(0, deployed=rolled_out(1)),
        {"refusal": "exceeded quota."},
        InstancePhase.DEGRADED,
        Reason.WRITE_REFUSED,
    ),
    "a predecessor on its way out": (
        world(),
        {"delay": Fault(Reason.PREDECESSOR_LEAVES, "Wait.")},
        InstancePhase.PROVISIONING,
        Reason.PREDECESSOR_LEAVES,
    ),
    "a stopped one behind a predecessor": (
        world(instance(replicas=0)),
        {"delay": Fault(Reason.PREDECESSOR_LEAVES, "Wait.")},
        InstancePhase.PROVISIONING,
        Reason.PREDECESSOR_LEAVES,
    ),
    "a refused write": (
        world(),
        {"refusal": "secrets is forbidden"},
        InstancePhase.FAILED,
        Reason.WRITE_REFUSED,
    ),
}


@pytest.mark.parametrize(("after", "outcome", "phase", "reason"), PHASES.values(), ids=PHASES)
def test_phase_and_ready_tell_the_same_story(
    after: InstanceWorld, outcome: dict[str, Any], phase: InstancePhase, reason: str
) -> None:
    """The phase is read off the conditions, first rung that fits."""
    told = status(after, **outcome)
    assert (told.phase, condition(told, InstanceCondition.READY).reason) == (phase, reason)


def test_the_status_says_where_how_many_and_what() -> None:
    """Everything that the columns and the scale subresource read."""
    told = status(
        seen(2, deployed=rolled_out(2) | {"readyReplicas": 1}, served=model(sha256="a" * 64))
    )
    assert told.endpoint == f"https://llm.example.com/llm/{told.slug}"
    assert (told.ready, told.replicas, told.ready_replicas) == ("1/2", 2, 1)
    assert told.selector == (
        "app.kubernetes.io/name=llama-cpp-server,llm.privatellms.msp/instance=chat"
    )
    assert told.model is not None
    assert (told.model.name, told.model.sha256) == ("tinyllama", "a" * 64)


def test_a_settled_status_is_computed_the_same_again() -> None:
    """Otherwise every pass would write."""
    first = status(seen(deployed=rolled_out(1)))
    manifest = instance_manifest() | {"status": first.to_kubernetes()}
    again = seen(deployed=rolled_out(1))
    stored = world(LLMInstance.parse(manifest), live=again.children)

    assert status(stored) == LLMInstance.parse(manifest).status


@given(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.booleans())
def test_no_instance_is_ready_without_a_ready_server(
    replicas: int, ready: int, traefik: bool, broken: bool, accepted: bool
) -> None:
    """And phase Ready and condition Ready always agree."""
    deployed = {"replicas": replicas, "readyReplicas": min(ready, replicas)}
    after = seen(
        replicas, deployed=deployed, traefik=traefik, pods=[failed_fetch()] if broken else []
    )
    told = status(after, fault=None if accepted else Fault(Reason.UNKNOWN_MODEL, "x"))
    is_ready = condition(told, InstanceCondition.READY).is_true

    assert is_ready == (told.phase is InstancePhase.READY)
    assert not is_ready or (ready > 0 and accepted and traefik)


def test_deletion_wins_over_everything() -> None:
    """A terminating instance says so, and keeps what it said before."""
    told = terminating(seen(deployed=rolled_out(1)))
    assert told.phase is InstancePhase.TERMINATING
    assert condition(told, InstanceCondition.READY).reason == Reason.TERMINATING
    assert phase_of((), deleting=True, replicas=1, ready=1) is InstancePhase.TERMINATING


def test_an_instance_that_ends_does_not_say_that_it_fetches() -> None:
    """What was on its way is not any more; what was found out stays."""
    fetching = status(seen(pods=[FETCHING]))
    stored = LLMInstance.parse(instance_manifest() | {"status": fetching.to_kubernetes()})

    told = terminating(world(stored, live=children(facts())))

    assert {c.type: c.reason for c in told.conditions} == {
        "Accepted": Reason.ACCEPTED,
        "ModelAvailable": Reason.TERMINATING,
        "Ready": Reason.TERMINATING,
        "RouteProgrammed": Reason.PROGRAMMED,
    }
    assert told.endpoint is not None


def test_an_instance_whose_route_was_taken_away_has_no_endpoint() -> None:
    """As when its namespace is deleted."""
    before = status(seen(deployed=rolled_out(1)))
    stored = LLMInstance.parse(instance_manifest() | {"status": before.to_kubernetes()})

    told = terminating(world(stored))

    assert told.endpoint is None
    assert condition(told, InstanceCondition.ROUTE_PROGRAMMED).reason == Reason.TERMINATING


def test_an_endpoint_is_told_while_it_leads_somewhere() -> None:
    """Nothing leads anywhere before there is an Ingress; a wrong change leaves the one that is there."""
    fault = Fault(Reason.TOO_MANY_REPLICAS, "Too many.")

    assert status(world()).endpoint is None
    assert status(world(), fault=fault).endpoint is None
    assert status(seen()).endpoint is not None
    assert status(seen(), fault=fault).endpoint is not None


def test_a_reason_that_no_fetcher_gives_is_not_repeated() -> None:
    """The report comes out of a tenant's namespace, and a reason of theirs could make us write nonsense."""
    cause = cause_of([failed_fetch("not a reason")])
    assert cause is not None
    assert cause.reason == Reason.FETCH_FAILED


def test_a_missing_right_names_the_remedy() -> None:
    """The customer learns whom to ask."""
    assert "onboarded" in refusal_text(ForbiddenError("secrets is forbidden."))
    assert refusal_text(RejectedError("spec is wrong")) == "spec is wrong."
    assert refusal_text(None) == ""


@pytest.mark.parametrize(
    ("pods", "reason", "status_of_model"),
    [
        ([], Reason.FETCH_PENDING, ConditionStatus.FALSE),
        ([pod(init={"state": {"waiting": {}}})], Reason.FETCH_PENDING, ConditionStatus.FALSE),
        ([UNPLACED], Reason.UNSCHEDULABLE, ConditionStatus.FALSE),
        ([going(FETCHING)], Reason.FETCH_PENDING, ConditionStatus.FALSE),
        ([FETCHING], Reason.FETCHING, ConditionStatus.FALSE),
        ([LOADING], Reason.FETCHED, ConditionStatus.TRUE),
        ([failed_fetch("NotFound")], "NotFound", ConditionStatus.FALSE),
    ],
)
def test_model_available_follows_the_fetcher(
    pods: list[Any], reason: str, status_of_model: ConditionStatus
) -> None:
    """The fetcher's reason becomes the condition's reason."""
    told = condition(status(seen(pods=pods)), InstanceCondition.MODEL_AVAILABLE)
    assert (told.reason, told.status) == (reason, status_of_model)


def _server(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return pod(server={"ready": False, "state": state} | more)


OOM = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
EXIT = {"terminated": {"exitCode": 3, "message": "loading\nerror: bad magic"}}
CAUSES = {
    "a fetcher with a report": (failed_fetch(), "ChecksumMismatch", "another digest"),
    "a fetcher that waits for its next try": (
        failed_fetch(waiting=True),
        "ChecksumMismatch",
        "another digest",
    ),
    "a fetcher that tries again": (
        pod(
            init={
                "state": {"running": {}},
                "lastState": {
                    "terminated": {
                        "exitCode": 1,
                        "message": '{"reason": "NotFound", "message": "m"}',
                    }
                },
            }
        ),
        "NotFound",
        "m",
    ),
    "a fetcher without a word": (
        pod(init={"state": {"terminated": {"exitCode": 9}}}),
        Reason.FETCH_FAILED,
        "exit code 9",
    ),
    "a fetcher that babbles": (
        pod(init={"state": {"terminated": {"exitCode": 1, "message": "[1, 2]"}}}),
        Reason.FETCH_FAILED,
        "[1, 2]",
    ),
    "a fetcher that nests": (
        pod(init={"state": {"terminated": {"exitCode": 1, "message": "[" * 4000}}}),
        Reason.FETCH_FAILED,
        "[[[",
    ),
    "a fetcher whose words are no text": (
        pod(
            init={
                "state": {
                    "terminated": {
                        "exitCode": 1,
                        "message": '{"reason": "NotFound", "message": [1]}',
                    }
                }
            }
        ),
        "NotFound",
        "says no more",
    ),
    "an image that cannot be pulled": (
        _server({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}}),
        Reason.IMAGE_PULL_FAILED,
        "server",
    ),
    "an image that is not allowed": (
        _server({"waiting": {"reason": "ErrImageNeverPull", "message": "not in the table"}}),
        Reason.IMAGE_PULL_FAILED,
        "not in the table",
    ),
    "a container that cannot be made": (
        _server({"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}),
        Reason.CONTAINER_REFUSED,
        "no secret",
    ),
    "a server out of memory": (_server(OOM), Reason.OUT_OF_MEMORY, "memory"),
    "a server that was out of memory": (
        _server({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=OOM),
        Reason.OUT_OF_MEMORY,
        "memory",
    ),
    "a server that crashes": (
        _server({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=EXIT),
        Reason.CRASH_LOOP,
        "exit code 3",
    ),
    "a pod without a node": (UNPLACED, Reason.UNSCHEDULABLE, "Insufficient memory"),
    "an evicted pod": (
        pod(phase="Failed", reason="Evicted", message="The node was low on memory"),
        Reason.EVICTED,
        "low on memory",
    ),
}


@pytest.mark.parametrize(("found", "reason", "words"), CAUSES.values(), ids=CAUSES)
def test_a_cause_is_named_in_words(found: dict[str, Any], reason: str, words: str) -> None:
    """The reason is for machines, the message for the person who has to act."""
    cause = cause_of([found])
    assert cause is not None
    assert cause.reason == reason
    assert words in cause.message


@pytest.mark.parametrize(
    "found",
    [
        pod(),
        FETCHING,
        LOADING,
        pod(
            init={"state": {"terminated": {"exitCode": 0}}, "lastState": EXIT},
            server={"ready": True, "state": {"running": {}}, "lastState": OOM},
        ),
        {"metadata": {"name": "p", "deletionTimestamp": "2026-11-30T09:00:00Z"}}
        | {"status": failed_fetch()["status"]},
    ],
)
def test_a_pod_on_its_way_has_no_cause(found: dict[str, Any]) -> None:
    """A server that answers again, and a pod that goes away, are no news."""
    assert cause_of([found]) is None


def test_a_fault_that_was_mended_is_not_told_again() -> None:
    """A pod of an earlier template may go on failing for a while beside its successor."""
    before = _of_template("old", "2026-11-30T09:00:00Z", failed_fetch())
    after = _of_template("new", "2026-11-30T09:01:00Z", _server(OOM))

    cause = cause_of([before, after])

    assert cause == cause_of([after]) != cause_of([before])


def _of_template(template: str, created: str, found: dict[str, Any]) -> dict[str, Any]:
    labels = {"pod-template-hash": template}
    metadata = {"name": template, "creationTimestamp": created, "labels": labels}
    return found | {"metadata": found["metadata"] | metadata}


def test_a_cause_in_pods_does_not_change_with_their_order() -> None:
    """A status must not flap with the order of a list."""
    pods = [failed_fetch(), _server(OOM), pod("other", phase="Failed", reason="Evicted")]
    assert cause_of(pods) == cause_of(reversed(pods))


def test_a_deployment_that_may_not_create_pods_says_why() -> None:
    """A quota shows up on the Deployment and not in any pod."""
    trouble = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "exceeded quota",
    }
    told = condition(status(seen(deployed={"conditions": [trouble]})), InstanceCondition.READY)
    assert told.reason == Reason.PODS_REFUSED
    assert "exceeded quota" in told.message
