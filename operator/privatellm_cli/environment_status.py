"""How the embedded environment is, for people and for programs; needs the ``local`` extra."""

import shlex
from collections.abc import Iterator
from typing import Any

from privatellm_cli.display import duration
from privatellm_cli.output import grid, printable
from privatellm_local.availability import Availability
from privatellm_local.overview import Overview, Part, UnderWay


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
        "missingDefinitions": list(seen.missing_definitions),
    }


def text(seen: Overview) -> str:
    """Return how an environment is, for people."""
    return "\n".join(
        (
            f"{seen.state} in {seen.paths.root}",
            *_under_way(seen.under_way),
            *_tables(seen),
            *_workspaces(seen),
            *_troubles(seen),
        )
    )


_BRINGS_BACK = "`privatellm up` brings it back"

_RESTARTING = frozenset({"backoff", "starting", "waiting"})
"""States of a component that the supervisor, which never gives up, will have ready by itself."""


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


def _troubles(seen: Overview) -> Iterator[str]:
    """Say what is wrong with each part, and who mends it: the supervisor, or the user by a command."""
    yield from filter(None, map(_component_trouble, seen.components))
    for name in seen.missing_definitions:
        yield f"{name} does not exist; {_BRINGS_BACK}"
    for deployment in seen.platform:
        if deployment.trouble:
            yield f"{deployment.name} {deployment.trouble}{_remedy(deployment)}"


def _component_trouble(part: Part) -> str:
    # The supervisor is as ready as ever when it has something to say.
    if part.name == "supervisor":
        return f"supervisor {printable(part.message)}" if part.message else ""
    if part.state in _RESTARTING and part.restarts:
        why = printable(part.message) or "ended"
        return f"{part.name} {why}; the supervisor is restarting it"
    if part.state == "unready":
        return (
            f"{part.name} runs and does not answer; see `privatellm logs --component {part.name}`"
        )
    return ""


def _remedy(deployment: Availability) -> str:
    is_gone = deployment.is_known and not (deployment.exists and deployment.wanted)
    return f"; {_BRINGS_BACK}" if is_gone else ""
