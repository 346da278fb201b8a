"""What holds for every status of an instance, whatever was observed."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import example, given
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
from privatellm.api.llm_instance import (
    InstanceCondition,
    InstancePhase,
    LLMInstance,
    LLMInstanceStatus,
)
from privatellm.conditions import Condition, ConditionStatus
from privatellm.errors import ForbiddenError, RejectedError
from privatellm.kube import kinds
from privatellm_operator.fetcher.errors import FetchReason
from privatellm_operator.fetches import FetchProgress
from privatellm_operator.reconcile.instance.causes import is_fetching
from privatellm_operator.reconcile.instance.checks import Fault
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.reasons import CALM, MAY_HEAL, PROGRESS, Reason
from privatellm_operator.reconcile.instance.status import (
    Outcome,
    refusal_text,
    status_of,
    terminating,
)
from privatellm_operator.reconcile.model.reasons import Reason as ModelReason
from privatellm_operator.settings import PublicSettings

PUBLIC = PublicSettings(host="llm.example.com")
DOCUMENTED = {*Reason, *FetchReason}
WAITS = PROGRESS | MAY_HEAL
EXPLAINING: dict[InstancePhase, frozenset[str]] = {
    InstancePhase.PENDING: frozenset({Reason.PENDING}),
    InstancePhase.PROVISIONING: frozenset(WAITS),
    InstancePhase.STOPPED: frozenset({Reason.STOPPED}),
    InstancePhase.TERMINATING: frozenset({Reason.TERMINATING}),
}
"""The reasons of Ready that explain a phase."""
UNEXPLAINING: dict[InstancePhase, frozenset[str]] = {
    InstancePhase.FAILED: frozenset(CALM),
    # Servers answer, so a route that is on its way is all that is missing.
    InstancePhase.DEGRADED: frozenset(
        CALM - {Reason.MIDDLEWARES_MISSING, Reason.PREDECESSOR_LEAVES, Reason.PENDING}
    ),
}
"""The reasons that are not enough to explain a phase; some other one must be there."""


@dataclass(frozen=True)
class Observation:
    """What a pass can meet."""

    world: InstanceWorld
    outcome: Outcome

    @property
    def status(self) -> LLMInstanceStatus:
        """What is said about it."""
        return status_of(self.world, self.outcome, PUBLIC)


words = st.sampled_from(["", "no room", "it is full.", "why?", "a, b:", "x" * 2000, "two\nlines"])
states = st.one_of(
    st.just({}),
    st.just({"running": {}}),
    st.builds(
        lambda reason, message: {"waiting": {"reason": reason, "message": message}},
        st.sampled_from(
            ["", "PodInitializing", "CrashLoopBackOff", "ImagePullBackOff", "CreateContainerError"]
        ),
        words,
    ),
    st.builds(
        lambda code, reason, message: {
            "terminated": {"exitCode": code, "reason": reason, "message": message}
        },
        st.sampled_from([0, 1, 137]),
        st.sampled_from(["", "Error", "OOMKilled"]),
        words
        | st.sampled_from([*FetchReason, "", "Odd one"]).map(
            lambda reason: f'{{"reason": "{reason}", "message": "m"}}'
        )
        | st.just('{"reason": [], "message": null}'),
    ),
)
containers = st.none() | st.fixed_dictionaries(
    {"state": states}, optional={"lastState": states, "ready": st.booleans()}
)
pod_statuses = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.sampled_from(["Pending", "Running", "Failed"]),
        "reason": st.just("Evicted"),
        "message": words,
        "conditions": st.builds(
            lambda message: [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                | {"message": message}
            ],
            words | st.just("pod has unbound immediate PersistentVolumeClaims"),
        ),
    },
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod in any state, perhaps on its way out."""
    name = draw(st.sampled_from(["chat-llama-1", "chat-llama-2"]))
    made = pod(name, init=draw(containers), server=draw(containers), **draw(pod_statuses))
    if draw(st.booleans()):
        made["metadata"]["deletionTimestamp"] = "2026-11-30T09:00:00Z"
    return made


counts = st.integers(0, 2)
troubles = st.lists(
    st.sampled_from(
        [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "q"},
        ]
    ),
    max_size=2,
)
deployments = st.none() | st.one_of(
    counts.map(rolled_out),
    st.fixed_dictionaries(
        {"replicas": counts, "readyReplicas": counts, "updatedReplicas": counts},
        optional={"conditions": troubles, "observedGeneration": st.just(1)},
    ),
)
faults = st.none() | st.builds(
    Fault,
    st.sampled_from([Reason.UNKNOWN_MODEL, Reason.MODEL_LEAVES, Reason.CHILD_CONFLICT]),
    st.just("A rule is broken. Mend it."),
)
delays = st.none() | st.just(Fault(Reason.PREDECESSOR_LEAVES, "It is still being removed."))
refusals = st.none() | st.builds(ForbiddenError, words) | st.builds(RejectedError, words)
platform_fetches = st.none() | st.builds(
    lambda told: Condition(
        type="Fetchable", status=ConditionStatus.FALSE, reason=told[0], message=told[1]
    ),
    st.sampled_from(
        [
            (ModelReason.FETCHING, "The platform fetches the model into the cache of n"),
            (
                ModelReason.SOURCE_FAILING,
                "The source fails, and the platform tries again. It is so.",
            ),
            (ModelReason.FETCH_FAILED, "The Job failed without a word"),
            (FetchReason.NOT_FOUND, "There is no such file."),
        ]
    ),
)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Anything that a pass can meet, and anything that it can have said before."""
    ordered = instance(replicas=draw(counts))
    deployed = draw(deployments)
    live = children(facts(ordered))
    if deployed is None:
        live = {name: child for name, child in live.items() if draw(st.booleans())}
        live = {name: child for name, child in live.items() if name[0] is not kinds.DEPLOYMENT}
    else:
        live = with_deployment_status(live, **deployed)
    served = model()
    if (fetchable := draw(platform_fetches)) is not None:
        told = served.status.model_copy(update={"conditions": (fetchable,)})
        served = served.model_copy(update={"status": told})
    seen = world(
        ordered,
        served=served,
        live=live,
        pods=draw(st.lists(pods(), max_size=2)),
        traefik=draw(st.booleans()),
        middlewares=None if draw(st.booleans()) else (),
    )
    progress = draw(st.none() | st.just(FetchProgress(1, 100)))
    fault = draw(faults)
    outcome = Outcome(fault, refusal_text(draw(refusals)), None if fault else draw(delays))
    return Observation(replace(seen, progress=progress), outcome)


def _reasons(status: LLMInstanceStatus) -> set[str]:
    return {condition.reason for condition in status.conditions if not condition.is_true}


def _assert_explained(status: LLMInstanceStatus) -> None:
    ready = {c.type: c for c in status.conditions}[InstanceCondition.READY]
    assert ready.is_true == (status.phase is InstancePhase.READY)
    assert status.phase is not None
    if status.phase is InstancePhase.READY:
        return
    explaining = EXPLAINING.get(status.phase)
    if explaining is None:
        assert _reasons(status) - UNEXPLAINING[status.phase], status
    else:
        assert ready.reason in explaining, status


@given(observations())
def test_a_phase_is_explained_by_a_condition(seen: Observation) -> None:
    """Ready goes with a true Ready, every other phase with a reason that means the phase."""
    _assert_explained(seen.status)


@given(observations())
def test_an_instance_is_accepted_or_failed(seen: Observation) -> None:
    """Nothing is said about servers of an order that counts for nothing."""
    status = seen.status
    known = {c.type: c for c in status.conditions}
    if seen.outcome.fault is None:
        assert known[InstanceCondition.ACCEPTED].is_true
        return
    assert status.phase is InstancePhase.FAILED
    assert {c.is_true for c in status.conditions} == {False}


@given(observations())
def test_a_fetch_is_told_of_while_it_goes_on(seen: Observation) -> None:
    """By a fetcher of the instance or by the platform; a pod that is on its way out does not count."""
    assert seen.world.model is not None
    fetchable = seen.world.model.status.conditions
    goes_on = is_fetching(seen.world.pods) or any(c.reason == "Fetching" for c in fetchable)
    told = [
        c
        for c in seen.status.conditions
        if c.reason == Reason.FETCHING or "is being fetched" in c.message
    ]
    assert goes_on or told == []


@given(observations())
def test_every_message_is_a_sentence_and_every_reason_documented(seen: Observation) -> None:
    """Also when words of nodes, servers and webhooks are part of it."""
    for condition in seen.status.conditions:
        assert condition.message.endswith((".", "!", "?", "…")), condition
        assert condition.reason in DOCUMENTED, condition


@given(observations())
def test_an_endpoint_is_told_when_it_leads_somewhere(seen: Observation) -> None:
    """Its Ingress is there, be it of an earlier order."""
    is_routed = any(kind is kinds.INGRESS for kind, _ in seen.world.children)

    assert (seen.status.endpoint is not None) == is_routed


@given(observations())
def test_a_stopped_instance_has_its_route(seen: Observation) -> None:
    """Its endpoint answers 503; without a route it would be 404, and something else is to be said."""
    routed = {c.type: c for c in seen.status.conditions}[InstanceCondition.ROUTE_PROGRAMMED]

    assert seen.status.phase is not InstancePhase.STOPPED or routed.is_true
    assert not routed.is_true or seen.status.endpoint is not None


@given(observations(), observations())
def test_the_end_of_an_instance_is_explained_too(before: Observation, seen: Observation) -> None:
    """Whatever was said before it."""
    manifest = instance_manifest() | {"status": before.status.to_kubernetes()}
    told = terminating(replace(seen.world, instance=LLMInstance.parse(manifest)))

    _assert_explained(told)
    assert _reasons(told).isdisjoint(PROGRESS)


@given(observations())
@example(Observation(world(), Outcome()))
def test_saying_it_again_says_the_same(seen: Observation) -> None:
    """A settled world writes nothing."""
    first = seen.status
    manifest = instance_manifest(replicas=seen.world.instance.spec.replicas)
    stored = LLMInstance.parse(manifest | {"status": first.to_kubernetes()})

    again = status_of(replace(seen.world, instance=stored), seen.outcome, PUBLIC)

    assert again == stored.status
