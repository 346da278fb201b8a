"""What the state of an ordered object means for the order."""

from typing import Any

import pytest

from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.api.llm_instance import InstancePhase, LLMInstance
from privatellm_local.demo.verdict import Broken, Fulfilled, Pending, judge


def condition(kind: str, status: str, message: str = "") -> dict[str, Any]:
    """Make a condition."""
    return {"type": kind, "status": status, "reason": "SomeReason", "message": message}


def instance(phase: str | None, *conditions: dict[str, Any], observed: int = 2) -> dict[str, Any]:
    """Make an instance of generation 2 in a phase."""
    status = {"conditions": list(conditions), "observedGeneration": observed}
    return {
        "metadata": {"name": "demo", "namespace": "demo", "generation": 2},
        "spec": {"model": "gemma-3-270m"},
        "status": status | ({"phase": phase} if phase else {}),
    }


def token(phase: str) -> dict[str, Any]:
    """Make a token request in a phase."""
    return {
        "metadata": {"name": "demo", "namespace": "demo", "generation": 1},
        "spec": {"instanceName": "demo"},
        "status": {"phase": phase, "observedGeneration": 1, "secretName": "demo-token"},
    }


def test_a_ready_object_fulfils_its_order() -> None:
    """The object comes with the verdict, for whoever needs its status."""
    assert isinstance(judge(LLMInstance, instance("Ready")), Fulfilled)

    verdict = judge(APITokenRequest, token("Ready"))
    assert isinstance(verdict, Fulfilled)
    assert verdict.object.status.secret_name == "demo-token"


def test_a_status_of_an_older_generation_is_no_news() -> None:
    """What was just applied has not been looked at, whatever the phase says."""
    for phase in ("Ready", "Failed"):
        assert isinstance(judge(LLMInstance, instance(phase, observed=1)), Pending)


def test_an_absent_object_is_pending() -> None:
    """The watch may start before the object is seen."""
    assert judge(LLMInstance, None) == Pending("LLMInstance: not there yet")


@pytest.mark.parametrize("phase", InstancePhase)
def test_every_phase_of_an_instance_has_a_verdict(phase: InstancePhase) -> None:
    """A phase that waiting cannot heal ends the order, the others go on."""
    expected = {
        InstancePhase.READY: Fulfilled,
        InstancePhase.FAILED: Broken,
        InstancePhase.STOPPED: Broken,
        InstancePhase.TERMINATING: Broken,
    }.get(phase, Pending)

    assert type(judge(LLMInstance, instance(phase))) is expected


@pytest.mark.parametrize("phase", TokenPhase)
def test_every_phase_of_a_key_has_a_verdict(phase: TokenPhase) -> None:
    """A key that has ended does not come back."""
    expected = {TokenPhase.READY: Fulfilled, TokenPhase.PENDING: Pending}.get(phase, Broken)

    assert type(judge(APITokenRequest, token(phase))) is expected


def test_the_reason_is_the_first_thing_that_went_wrong() -> None:
    """A failed download is the cause, the missing readiness its effect."""
    verdict = judge(
        LLMInstance,
        instance(
            "Failed",
            condition("Ready", "False", "No model server is ready."),
            condition("ModelAvailable", "False", "The file has another SHA-256."),
            condition("Accepted", "True"),
        ),
    )

    assert verdict == Broken("LLMInstance demo is Failed: The file has another SHA-256")


def test_without_a_condition_the_operator_is_to_be_asked() -> None:
    """Even silence leads somewhere."""
    verdict = judge(LLMInstance, instance(None))

    assert verdict == Pending(
        "LLMInstance demo is new: its conditions give no reason; see the operator's log"
    )


def test_what_a_deleted_predecessor_left_is_waited_for() -> None:
    """`delete demo/demo` and `up` right after it: the children of the former go in a moment."""
    ready = condition("Ready", "False", "It is still being removed.")

    verdict = judge(LLMInstance, instance("Provisioning", condition("Accepted", "True"), ready))

    assert verdict == Pending("LLMInstance demo is Provisioning: It is still being removed")


def test_a_name_that_somebody_else_has_is_no_matter_of_waiting() -> None:
    """The operator tells one from the other."""
    taken = condition("Accepted", "False", "Taken.") | {"reason": "ChildConflict"}

    assert judge(LLMInstance, instance("Failed", taken)) == Broken(
        "LLMInstance demo is Failed: Taken"
    )
