"""How the embedded environment is, for people and for programs; needs the ``local`` extra."""

import shlex
from collections.abc import Iterator
from typing import Any

from privatellm_cli.display import duration
from privatellm_cli.output import grid, printable
from privatellm_local.availability import Availability
from privatellm_local.overview import Overview, Part, State, UnderWay


def as_document(seen: Overview) -> dict[str, Any]:
    """Return how an environment is, for programs."""
    return {
        "state": seen.state,
        "stateDirectory": str(seen.paths.root),
        "kubeconfig": str(seen.kubeconfig) if seen.kubeconfig else None,
        "edge": seen.plan.edge_url if seen.plan else None,
        "apiServer": seen.plan.apiserver_url if seen.plan else None,
        "serviceCIDR": str(seen.plan.service_cidr) if seen.plan else None,
        "podCIDR": str(seen.plan.pod_cidr) if seen.plan else None,
        "customerKubeconfig": str(seen.customer_kubeconfig) if seen.customer_kubeconfig else None,
        "command": _command(seen.under_way),
        "components": [
            {
                "name": part.name,
                "state": part.state,
                "pid": part.pid,
                "uptimeSeconds": part.uptime_seconds,
                "restarts": part.restarts,
                "address": part.address,
                "message": part.message,
            }
            for part in seen.components
        ],
        "platform": [
            {
                "name": part.name,
                "state": _state(part),
                "readyReplicas": part.ready,
                "replicas": part.wanted,
                "message": part.trouble,
            }
            for part in seen.platform
        ],
    }


def text(seen: Overview) -> str:
    """Return how an environment is, for people."""
    return "\n".join(
        (
            f"{seen.state} in {seen.paths.root}",
            *_under_way(seen.under_way),
            *_tables(seen),
            *_workspaces(seen),
            *(f"{name} {trouble}" for name, trouble in _troubles(seen)),
            *(_REMEDY if seen.state is State.DEGRADED else ()),
        )
    )


_REMEDY = ("`privatellm up` brings back what is missing.",)


def _command(under_way: UnderWay | None) -> dict[str, Any] | None:
    if under_way is None:
        return None
    return {"name": under_way.command, "pid": under_way.pid, "stage": under_way.stage}


def _under_way(under_way: UnderWay | None) -> Iterator[str]:
    if under_way is not None:
        stage = f": {under_way.stage}" if under_way.stage else ""
        yield f"`privatellm {under_way.command}` is at work there (process {under_way.pid}){stage}"


def _tables(seen: Overview) -> Iterator[str]:
    if seen.components:
        heading = ["COMPONENT", "STATE", "PID", "UPTIME", "RESTARTS", "ADDRESS"]
        yield grid([heading, *map(_component_row, seen.components)])
    if seen.platform:
        yield ""
        yield grid([["PLATFORM", "STATE", "READY"], *map(_platform_row, seen.platform)])


def _workspaces(seen: Overview) -> Iterator[str]:
    if seen.customer_kubeconfig is not None:
        yield ""
        yield f"A customer's workspace: KUBECONFIG={shlex.quote(str(seen.customer_kubeconfig))}"


def _component_row(part: Part) -> list[str]:
    uptime = "" if part.uptime_seconds is None else duration(part.uptime_seconds)
    return [part.name, part.state, str(part.pid or ""), uptime, str(part.restarts), part.address]


def _platform_row(part: Availability) -> list[str]:
    counts = f"{part.ready} of {part.wanted}" if part.is_known else "unknown"
    return [part.name, _state(part), counts]


def _state(part: Availability) -> str:
    if not part.is_known:
        return "unknown"
    return "ready" if part.is_available else "unready"


def _troubles(seen: Overview) -> Iterator[tuple[str, str]]:
    for part in seen.components:
        if part.message and (part.state != "ready" or part.name == "supervisor"):
            yield part.name, printable(part.message)
    for deployment in seen.platform:
        if deployment.trouble:
            yield deployment.name, deployment.trouble
