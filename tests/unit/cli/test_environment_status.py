from dataclasses import replace
from pathlib import Path

import pytest

from privatellm_cli.environment_status import as_document, text
from privatellm_local.availability import Availability
from privatellm_local.overview import Overview, Part, State, UnderWay
from privatellm_local.paths import StatePaths

ETCD = Part("etcd", "ready", 42, 30.0, 0, "https://127.0.0.1:20003", "")


def _overview(
    state: State,
    *components: Part,
    platform: tuple[Availability, ...] = (),
    under_way: UnderWay | None = None,
) -> Overview:
    return Overview(
        paths=StatePaths(Path("/state")),
        state=state,
        plan=None,
        kubeconfig=None,
        components=components,
        platform=platform,
        under_way=under_way,
    )


def test_people_see_every_part_and_how_much_of_it_there_is() -> None:
    """Columns are whole, however narrow the terminal is."""
    seen = _overview(State.READY, ETCD, platform=(Availability("operator", wanted=1, ready=1),))

    assert text(seen).splitlines() == [
        "ready in /state",
        "COMPONENT   STATE   PID   UPTIME   RESTARTS   ADDRESS",
        "etcd        ready   42    30.0 s   0          https://127.0.0.1:20003",
        "",
        "PLATFORM   STATE   READY",
        "operator   ready   1 of 1",
    ]


def test_a_customers_workspace_is_told_as_a_variable_that_can_be_pasted() -> None:
    """Below the tables, in environments that have workspaces."""
    kubeconfig = Path("/state/some where/customer")
    seen = replace(_overview(State.READY, ETCD), customer_kubeconfig=kubeconfig)

    assert text(seen).splitlines()[-1] == (
        "A customer's workspace: KUBECONFIG='/state/some where/customer'"
    )
    assert as_document(seen)["customerKubeconfig"] == str(kubeconfig)
    assert as_document(_overview(State.READY))["customerKubeconfig"] is None


def test_what_is_wrong_is_said_with_the_way_out() -> None:
    """Below the tables, where nothing is cut."""
    broken = Part("traefik", "backoff", None, None, 3, "", "exited with code 1: \x1b[31mno")
    seen = _overview(State.DEGRADED, ETCD, broken, platform=(Availability("operator", wanted=0),))

    lines = text(seen).splitlines()

    assert "operator   unready   0 of 0" in lines
    assert lines[-3:] == [
        r"traefik exited with code 1: \x1b[31mno",
        "operator has 0 of 0 replicas ready",
        "`privatellm up` brings back what is missing.",
    ]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("programs", "`privatellm up` is at work there (process 7): programs"),
        ("", "`privatellm up` is at work there (process 7)"),
    ],
)
def test_a_command_at_work_is_named_with_its_process(stage: str, expected: str) -> None:
    """During a first build there is nothing else to see."""
    seen = _overview(State.STARTING, under_way=UnderWay("up", 7, stage))

    assert text(seen).splitlines() == ["starting in /state", expected]
    assert as_document(seen)["command"] == {"name": "up", "pid": 7, "stage": stage}


def test_programs_read_the_platform_as_numbers() -> None:
    """And nothing at all for a command when none is at work."""
    seen = _overview(
        State.DEGRADED,
        platform=(
            Availability("authserver", wanted=2, ready=1),
            Availability("operator", is_known=False),
        ),
    )

    document = as_document(seen)

    assert document["command"] is None
    assert document["platform"] == [
        {
            "name": "authserver",
            "state": "unready",
            "readyReplicas": 1,
            "replicas": 2,
            "message": "has 1 of 2 replicas ready",
        },
        {
            "name": "operator",
            "state": "unknown",
            "readyReplicas": 0,
            "replicas": 0,
            "message": "could not be asked for: the API server does not answer",
        },
    ]
