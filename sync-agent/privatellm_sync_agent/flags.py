"""The command line: upstream's flags with upstream's meaning, so a deployment switches over as it is.

One flag is ours: the directory of PublishedResources that the agent applies.
"""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from typing_extensions import override

from privatellm.errors import InvalidInputError
from privatellm.telemetry.logs import LogFormat
from privatellm_sync_agent.agent import Controller

DEFAULT_METRICS_ADDRESS = "127.0.0.1:8085"

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_HOST_AND_PORT = re.compile(r"([^\s:/@]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")
_KEY, _VALUE = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?", r"[-A-Za-z0-9_.]*"
_TERM = rf"\s*(?:!\s*{_KEY}|{_KEY}(?:\s*(?:==?|!=)\s*{_VALUE}|\s+(?:not)?in\s*\([^()]*\))?)\s*"
_TERMS = re.compile(rf"{_TERM}(?:,{_TERM})*")
_TRUE, _FALSE = ("1", "t", "true"), ("0", "f", "false")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a listener listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line asks for.

    Attributes:
        kcp_kubeconfig: Kubeconfig of kcp; its server names the workspace of the endpoint slice.
        namespace: Namespace the agent runs in: its Lease is there.
        endpoint_slice: Name of the APIExportEndpointSlice.
        agent_name: Name of the agent.
        selector: Label selector of the PublishedResources.
        provided: Directory with PublishedResources that the agent applies itself; ``None``: none.
        leader_election: Whether a Lease is taken first.
        kubeconfig: Kubeconfig of the service cluster; absent: ``KUBECONFIG``, then the in-cluster files.
        host_override: Replaces the service cluster's host.
        ca_file_override: Replaces the service cluster's CA.
        overrides: Hosts of endpoints that are reached under another one, each with a port.
        metrics: Where metrics are served; ``None`` switches them off.
        health: Where probes are served; ``None`` switches them off.
        disabled: Parts that are switched off.
        log_format: How log lines look.
        log_debug: Whether debug lines are written.
    """

    kcp_kubeconfig: Path
    namespace: str
    endpoint_slice: str
    agent_name: str
    selector: str
    provided: Path | None
    leader_election: bool
    kubeconfig: Path | None
    host_override: str
    ca_file_override: str
    overrides: tuple[tuple[str, str], ...]
    metrics: Address | None
    health: Address | None
    disabled: frozenset[Controller]
    log_format: LogFormat
    log_debug: bool


class _Parser(argparse.ArgumentParser):
    @override
    def error(self, message: str) -> NoReturn:
        raise InvalidInputError(f"{self.prog}: {message}. See --help.")


def parse(arguments: list[str]) -> Flags:
    """Read the command line.

    Raises:
        InvalidInputError: naming the flag that is missing or wrong.
    """
    given = _parser().parse_args(arguments)
    name = given.agent_name or f"{given.apiexportendpointslice_ref}-syncagent"
    if not _DNS_1035.fullmatch(name):
        raise InvalidInputError(
            f"--agent-name must be a DNS label that begins with a letter (63 characters); got {name!r}."
        )
    return Flags(
        kcp_kubeconfig=given.kcp_kubeconfig,
        namespace=given.namespace,
        endpoint_slice=given.apiexportendpointslice_ref,
        agent_name=name,
        selector=given.published_resource_selector,
        provided=given.published_resources_directory,
        leader_election=given.enable_leader_election,
        kubeconfig=given.kubeconfig,
        host_override=given.kubeconfig_host_override,
        ca_file_override=given.kubeconfig_ca_file_override,
        overrides=tuple(one for group in given.apiexport_hostport_override for one in group),
        metrics=given.metrics_address,
        health=given.health_address,
        disabled=frozenset(one for group in given.disabled_controllers for one in group),
        log_format=given.log_format,
        log_debug=given.log_debug,
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="privatellm-sync-agent", description=__doc__, allow_abbrev=False)
    parser.add_argument("--kcp-kubeconfig", type=Path, required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--apiexportendpointslice-ref", required=True)
    parser.add_argument("--agent-name", default="")
    parser.add_argument("--published-resource-selector", type=_selector, default="")
    parser.add_argument("--published-resources-directory", type=Path)
    _add_switch(parser, "--enable-leader-election")
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--kubeconfig-host-override", default="")
    parser.add_argument("--kubeconfig-ca-file-override", default="")
    parser.add_argument(
        "--apiexport-hostport-override", type=_overrides, action="append", default=[]
    )
    parser.add_argument(
        "--metrics-address", type=_address, default=_address(DEFAULT_METRICS_ADDRESS)
    )
    parser.add_argument("--health-address", type=_address, default=None)
    parser.add_argument("--disabled-controllers", type=_controllers, action="append", default=[])
    parser.add_argument("--log-format", type=_log_format, default=LogFormat.JSON)
    _add_switch(parser, "--log-debug")
    return parser


def _add_switch(parser: argparse.ArgumentParser, name: str) -> None:
    """Add a flag that stands alone or says ``=true`` or ``=false``, as Go's flags do."""
    options: dict[str, Any] = {"nargs": "?", "const": True, "default": False, "type": _boolean}
    parser.add_argument(name, **options)


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in (*_TRUE, *_FALSE):
        raise argparse.ArgumentTypeError(f"must be true or false; got {text!r}")
    return lowered in _TRUE


def _address(text: str) -> Address | None:
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        raise argparse.ArgumentTypeError(f"must be host:port, or 0 to switch it off; got {text!r}")
    return Address(host.strip("[]"), int(port))


def _selector(text: str) -> str:
    if text.strip() and not _TERMS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"must be a label selector such as a=b,c in (d, e); got {text!r}"
        )
    return text


def _overrides(text: str) -> tuple[tuple[str, str], ...]:
    found = [tuple(pair.split("=")) for pair in text.split(",")]
    for pair in found:
        if len(pair) != len(("original", "new")) or not all(map(_HOST_AND_PORT.fullmatch, pair)):
            raise argparse.ArgumentTypeError(
                f"must be host:port=host:port, several joined by commas; got {text!r}"
            )
    return tuple((original, new) for original, new in found)


def _controllers(text: str) -> tuple[Controller, ...]:
    try:
        return tuple(Controller(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        known = ", ".join(sorted(controller.value for controller in Controller))
        raise argparse.ArgumentTypeError(f"must be some of {known}; got {text!r}") from error


def _log_format(text: str) -> LogFormat:
    try:
        return LogFormat(text.lower())
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be Console or JSON; got {text!r}") from error
