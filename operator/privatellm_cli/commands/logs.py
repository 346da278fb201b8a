"""``privatellm logs``: what a component said."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths, state_paths
from privatellm_local.processes import logs as component_logs

FOLLOW_SECONDS = 0.2
"""How often a followed log is looked at."""

CHUNK_BYTES = 1 << 16


def logs(
    component: Annotated[
        str, typer.Option("--component", metavar="NAME", help="Which component, see `status`.")
    ],
    state: StateOption = None,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing.")] = False,
    lines: Annotated[
        int | None,
        typer.Option("-n", "--lines", min=1, help="Only the last lines.", show_default=False),
    ] = None,
) -> ExitCode:
    """Print the log of a component; logs of pods come from `kubectl logs`."""
    log = _log_of(state_paths(state), component)
    position = 0
    if lines is not None:
        position = component_logs.size(log)
        for line in component_logs.tail(log, lines):
            typer.echo(line)
    position = _copy(log, position)
    while follow:
        time.sleep(FOLLOW_SECONDS)
        position = _copy(log, position)
    return ExitCode.OK


def _log_of(paths: StatePaths, component: str) -> Path:
    names = sorted(log.stem for log in paths.logs.glob("*.log"))
    if component in names:
        return paths.log(component)
    if not names:
        raise StateError(f"{paths.root} holds no logs: start an environment with `privatellm up`.")
    raise StateError(
        f"There is no component {component!r}; there are {', '.join(names)}. Operator, authserver and "
        "model servers are pods: `kubectl logs` shows what they say."
    )


def _copy(log: Path, position: int) -> int:
    size = component_logs.size(log)
    if size < position:
        position = 0  # The log was rotated.
    with log.open("rb") as stream:
        stream.seek(position)
        while chunk := stream.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
            position += len(chunk)
    sys.stdout.flush()
    return position
