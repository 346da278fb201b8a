"""``privatellm status``: what runs, where, and since when."""

from datetime import UTC, datetime

import typer

from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import OutputOption, StateOption
from privatellm_cli.output import Format, document
from privatellm_cli.running import run
from privatellm_local.paths import state_paths


def status(state: StateOption = None, output: OutputOption = Format.TABLE) -> ExitCode:
    """Show every component with its state, process and address.

    Returns 0 when all of them are ready and 8 otherwise.
    """
    # Needs the `local` extra, which a customer's command line does without.
    from privatellm_cli.environment_status import as_document, text  # noqa: PLC0415
    from privatellm_local import overview  # noqa: PLC0415

    seen = run(overview.look(state_paths(state), datetime.now(UTC)))
    if output.is_document:
        typer.echo(document(as_document(seen), output))
    else:
        typer.echo(text(seen))
    return ExitCode.OK if seen.state is overview.State.READY else ExitCode.NOT_RUNNING
