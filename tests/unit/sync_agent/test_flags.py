"""The command line: an existing deployment's arguments mean what they meant."""

from pathlib import Path

import pytest

from privatellm.errors import InvalidInputError
from privatellm.telemetry.logs import LogFormat
from privatellm_sync_agent.agent import Controller
from privatellm_sync_agent.flags import Address, parse
from privatellm_sync_agent.kcp.home import overridden

REQUIRED = ["--kcp-kubeconfig=/k", "--namespace", "kcp", "--apiexportendpointslice-ref=llm"]


def test_the_arguments_of_upstreams_chart_are_understood() -> None:
    """As its deployment writes them."""
    flags = parse(
        [
            *REQUIRED,
            "--agent-name=llm-agent",
            "--enable-leader-election=true",
            "--published-resource-selector=a=b",
            "--log-format=JSON",
            "--log-debug=false",
            "--health-address=0.0.0.0:8086",
            "--metrics-address=[::1]:8085",
            "--disabled-controllers=apiexport,sync",
            "--kubeconfig-host-override=https://10.0.0.1",
            "--kubeconfig-ca-file-override=/ca",
            "--apiexport-hostport-override=a.internal:6443=kcp.example:443,b:1=[::1]:2",
            "--apiexport-hostport-override=c:3=d:4",
        ]
    )
    assert flags.kcp_kubeconfig == Path("/k")
    assert flags.leader_election
    assert not flags.log_debug
    assert flags.health == Address("0.0.0.0", 8086)  # noqa: S104 - what the chart says
    assert flags.metrics == Address("::1", 8085)
    assert flags.disabled == {Controller.EXPORT, Controller.SYNC}
    assert flags.overrides == (
        ("a.internal:6443", "kcp.example:443"),
        ("b:1", "[::1]:2"),
        ("c:3", "d:4"),
    )


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://a.internal:6443/services/x", "https://kcp.example:443/services/x"),
        ("https://a.internal/services/x", "https://a.internal/services/x"),
        ("https://chained:1/services/x", "https://kcp.example:443/services/x"),
    ],
)
def test_an_endpoint_is_reached_under_another_host(url: str, seen: str) -> None:
    """kcp#3830: the path stays, the port counts, and overrides are looked through in their order."""
    overrides = (("chained:1", "a.internal:6443"), ("a.internal:6443", "kcp.example:443"))
    assert overridden(url, overrides) == seen


@pytest.mark.parametrize(
    "selector", ["a=b", "a==b,c!=d", "x/a in (b, c), !d", "a notin (b),c", "a in ()", " a = b "]
)
def test_a_selector_is_read_as_kubernetes_reads_it(selector: str) -> None:
    """All its operators."""
    assert parse([*REQUIRED, f"--published-resource-selector={selector}"]).selector == selector


def test_the_defaults_are_upstreams() -> None:
    """The agent is called after its slice, no probes, metrics on loopback, no leader election."""
    flags = parse(REQUIRED)
    assert flags.agent_name == "llm-syncagent"
    assert (flags.health, flags.metrics) == (None, Address("127.0.0.1", 8085))
    assert not flags.leader_election
    assert flags.log_format is LogFormat.JSON


def test_a_switch_may_stand_alone_and_a_zero_switches_a_listener_off() -> None:
    """As Go's flags do."""
    flags = parse(
        [*REQUIRED, "--enable-leader-election", "--metrics-address=0", "--log-format=Console"]
    )
    assert flags.leader_election
    assert flags.metrics is None
    assert flags.log_format is LogFormat.CONSOLE


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        REQUIRED[1:],
        [*REQUIRED, "--agent-name=UPPER"],
        [*REQUIRED, "--agent-name=1x"],
        [*REQUIRED, "--log-format=xml"],
        [*REQUIRED, "--metrics-address=nowhere"],
        [*REQUIRED, "--enable-leader-election=perhaps"],
        [*REQUIRED, "--disabled-controllers=everything"],
        [*REQUIRED, "--apiexport-ref=x"],
        [*REQUIRED, "--apiexport-hostport-override=a:1"],
        [*REQUIRED, "--apiexport-hostport-override=a=b"],
        [*REQUIRED, "--apiexport-hostport-override=a:1=b:2=c:3"],
        [*REQUIRED, "--published-resource-selector=a=b c"],
        [*REQUIRED, "--published-resource-selector=a in b"],
        [*REQUIRED, "--published-resource-selector=,"],
    ],
)
def test_a_wrong_argument_is_refused(arguments: list[str]) -> None:
    """With a sentence that names it."""
    with pytest.raises(InvalidInputError):
        parse(arguments)
