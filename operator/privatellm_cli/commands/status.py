"""``privatellm status``: what runs, where, and since when."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from privatellm_cli.display import duration
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_local import overview
from privatellm_local.overview import Overview, State
from privatellm_local.paths import state_paths


class Format(StrEnum):
    """How the status is printed."""

    TABLE = "table"
    JSON = "json"


def status(
    state: StateOption = None,
    output: Annotated[
        Format, typer.Option("-o", "--output", help="A table for people or JSON for programs.")
    ] = Format.TABLE,
) -> ExitCode:
    """Show every component with its state, process and address.

    Returns 0 when all of them are ready and 8 otherwise.
    """
    seen = overview.look(state_paths(state), datetime.now(UTC))
    if output is Format.JSON:
        typer.echo(json.dumps(_document(seen), indent=2))
    else:
        _print(seen, Console())
    return ExitCode.OK if seen.state is State.READY else ExitCode.NOT_RUNNING


def _document(seen: Overview) -> dict[str, Any]:
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


def _print(seen: Overview, console: Console) -> None:
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
