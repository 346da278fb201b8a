"""``privatellm env``: shell exports that make tools talk to the environment."""

from typing import Annotated

import typer

from privatellm_cli import exports
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_cli.running import run
from privatellm_local import environment
from privatellm_local.paths import state_paths


def env(
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="[INSTANCE]",
            help="An LLMInstance as NAME or NAMESPACE/NAME; the demo's when left out.",
            show_default=False,
        ),
    ] = None,
    state: StateOption = None,
) -> ExitCode:
    """Print exports for a shell: eval "$(privatellm env)"."""
    running = environment.require_running(state_paths(state))
    for line in run(exports.lines(running, instance)):
        typer.echo(line)
    return ExitCode.OK
