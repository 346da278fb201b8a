"""What a command that has subcommands does by itself: say which there are."""

import typer

from privatellm_cli.exit_codes import ExitCode


def help_when_alone(context: typer.Context) -> None:
    """Print the help of a group that was called without a subcommand, and end.

    The call makes no sense, so the code is that of a wrong command line and the help goes to standard error;
    the text is as it is with ``--help``.

    Raises:
        typer.Exit: when there is no subcommand.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(ExitCode.USAGE)
