from typing import Any

import pytest

from privatellm.api.llm_instance import LLMInstance
from privatellm_cli.verdict import OnTheWay, Reached, Stuck, Troubled, Verdict, judge


def _instance(
    phase: str | None, *conditions: tuple[str, str, str], observed: int = 2, **metadata: Any
) -> LLMInstance:
    status: dict[str, Any] = {
        "observedGeneration": observed,
        "conditions": [
            {"type": kind, "status": value, "reason": reason, "message": f"{reason} it is."}
            for kind, value, reason in conditions
        ],
    }
    if phase:
        status["phase"] = phase
    named = {"name": "chat", "namespace": "acme", "generation": 2} | metadata
    return LLMInstance.parse({"metadata": named, "spec": {}, "status": status})


ACCEPTED = ("Accepted", "True", "Accepted")


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (_instance("Ready", ACCEPTED, ("Ready", "True", "Ready")), Reached()),
        (_instance("Stopped", ACCEPTED, ("Ready", "False", "Stopped")), Reached()),
        (_instance("Ready", ACCEPTED, ("Ready", "True", "Rolling")), OnTheWay("Rolling it is.")),
        (
            _instance("Provisioning", ACCEPTED, ("ModelAvailable", "False", "Fetching")),
            OnTheWay("Fetching it is."),
        ),
        (
            _instance("Provisioning", ACCEPTED, ("Ready", "False", "Unschedulable")),
            OnTheWay("Unschedulable it is."),
        ),
        (
            _instance("Provisioning", ACCEPTED, ("ModelAvailable", "False", "SourceFailing")),
            Troubled("SourceFailing it is."),
        ),
        (_instance(None), OnTheWay("Nothing was applied yet.")),
        (
            _instance("Ready", ("Ready", "True", "Ready"), observed=1),
            OnTheWay("The operator has not looked at it yet."),
        ),
        (
            _instance("Failed", ("Accepted", "False", "UnknownModel")),
            Stuck("UnknownModel it is.", final=True),
        ),
        (
            _instance("Failed", ACCEPTED, ("ModelAvailable", "False", "ChecksumMismatch")),
            Stuck("ChecksumMismatch it is."),
        ),
        (
            _instance("Degraded", ACCEPTED, ("Ready", "False", "CrashLoop")),
            Stuck("CrashLoop it is."),
        ),
        (
            _instance("Terminating", ACCEPTED, deletionTimestamp="2026-11-30T00:00:00Z"),
            Stuck("The instance is being deleted.", final=True),
        ),
    ],
)
def test_a_state_means_something_to_whoever_waits(instance: LLMInstance, expected: Verdict) -> None:
    """Only what no time can heal is final, and an old status says nothing about a new order."""
    assert judge(instance) == expected
