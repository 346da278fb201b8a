"""What a command that has subcommands does by itself: say which there are."""

from collections.abc import Callable, Mapping

import typer

from privatellm_cli.exit_codes import ExitCode


def group(name: str, summary: str, commands: Mapping[str, Callable[..., ExitCode]]) -> typer.Typer:
    """Return a command that has subcommands.

    Args:
        name: What is typed for it.
        summary: One sentence for the help.
        commands: The subcommands by name, in the order of the help.
    """
    app = typer.Typer(
        name=name,
        help=summary,
        callback=help_when_alone,
        invoke_without_command=True,
        rich_markup_mode=None,
    )
    for word, command in commands.items():
        app.command(word)(command)
    return app


def help_when_alone(context: typer.Context) -> None:
    """Print the help of a group that was called without a subcommand, and end.

    The call makes no sense, so the code is that of a wrong command line and the help goes to standard
    error; the text is as it is with ``--help``.

    Raises:
        typer.Exit: when there is no subcommand.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(ExitCode.USAGE)
