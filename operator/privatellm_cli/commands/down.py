"""``privatellm down``: stop the embedded environment."""

from typing import Annotated

import typer

from privatellm_cli.display import progress_for
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_cli.running import run
from privatellm_local.paths import cache_paths, state_paths


def down(
    state: StateOption = None,
    *,
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Remove the state directory too, with the cluster's data."),
    ] = False,
) -> ExitCode:
    """Stop every process of the environment. The cluster's data stays unless --purge is given."""
    # Needs the `local` extra, which a customer's command line does without.
    from privatellm_local import environment  # noqa: PLC0415

    paths = state_paths(state)
    progress = progress_for()
    progress.begin("stopping")
    try:
        ended = run(environment.down(paths, cache_paths(), progress, purge=purge))
    finally:
        progress.close()
    typer.echo("Stopped." if ended.was_running else f"Nothing runs in {paths.root}.")
    if ended.was_removed:
        typer.echo(f"Removed {paths.root}.")
    elif purge:
        typer.echo("There is no environment to remove.")
    return ExitCode.OK
