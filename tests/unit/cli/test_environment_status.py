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
    mute = Part("host-node", "unready", 43, 30.0, 1, "", "was ended by signal 9")
    platform = (
        Availability("operator", wanted=0),
        Availability("authserver", exists=False),
        Availability("agent", wanted=1),
    )
    seen = replace(
        _overview(State.DEGRADED, ETCD, broken, mute, platform=platform),
        missing_definitions=("middlewares.traefik.io",),
    )

    lines = text(seen).splitlines()

    assert "operator     unready   0 of 0" in lines
    assert lines[-6:] == [
        r"traefik exited with code 1: \x1b[31mno; the supervisor is restarting it",
        "host-node runs and does not answer; see `privatellm logs --component host-node`",
        "middlewares.traefik.io does not exist; `privatellm up` brings it back",
        "operator is scaled to 0; `privatellm up` brings it back",
        "authserver does not exist; `privatellm up` brings it back",
        "agent has 0 of 1 replicas ready",
    ]
    assert as_document(seen)["missingDefinitions"] == ["middlewares.traefik.io"]


@pytest.mark.parametrize("state", ["backoff", "starting", "waiting"])
def test_what_the_supervisor_restarts_needs_no_command(state: str) -> None:
    """And what the API server cannot tell meanwhile is no loss that `up` could make good."""
    killed = Part("kube-apiserver", state, None, None, 1, "", "was ended by signal 9")
    unknown = Availability("operator", is_known=False)
    seen = _overview(State.DEGRADED, killed, platform=(unknown,))

    lines = text(seen).splitlines()

    assert lines[-2:] == [
        "kube-apiserver was ended by signal 9; the supervisor is restarting it",
        "operator could not be asked for: the API server does not answer",
    ]


def test_the_first_start_of_a_component_is_no_trouble() -> None:
    """Nothing has ended yet."""
    starting = Part("etcd", "starting", 42, 1.0, 0, "", "")

    assert text(_overview(State.STARTING, starting)).splitlines()[-1].split()[:2] == [
        "etcd",
        "starting",
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
