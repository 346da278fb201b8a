"""How the embedded environment is, for people and for programs; needs the ``local`` extra."""

from typing import Any

from rich.console import Console
from rich.table import Table

from privatellm_cli.display import duration
from privatellm_local.overview import Overview


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
    }


def show(seen: Overview, console: Console) -> None:
    """Print how an environment is, for people."""
    console.print(f"{seen.state} in {seen.paths.root}", highlight=False, soft_wrap=True)
    if not seen.components:
        return
    table = Table(box=None, pad_edge=False, header_style="")
    for heading in ("COMPONENT", "STATE", "PID", "UPTIME", "RESTARTS", "ADDRESS"):
        table.add_column(heading, no_wrap=True)
    for part in seen.components:
        uptime = "" if part.uptime_seconds is None else duration(part.uptime_seconds)
        table.add_row(
            part.name, part.state, str(part.pid or ""), uptime, str(part.restarts), part.address
        )
    console.print(table)
    for part in seen.components:
        if part.message and part.state != "ready":
            console.print(f"{part.name} {part.message}", highlight=False, markup=False)
