"""What a command that has subcommands does by itself: say which there are, and which may be meant."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typing_extensions import override

from privatellm_cli.exit_codes import ExitCode

NEAR = 0.7
"""How alike two names must be (difflib's ratio): `lst` and `list` are, `bogus` and `logs` are not."""


class NearNames(TyperGroup):
    """A command that offers a subcommand only where its name is near the one that was typed."""

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the subcommand that was typed."""
        try:
            return super().resolve_command(ctx, args)
        except TyperException as error:
            near = get_close_matches(args[0], self.commands, cutoff=NEAR)
            if near:
                offered = ", ".join(map(repr, near))
                error.message = f"{error.message.rstrip('.')}. Did you mean {offered}?"
            raise


def group(name: str, summary: str, commands: Mapping[str, Callable[..., ExitCode]]) -> typer.Typer:
    """Return a command that has subcommands.

    Args:
        name: What is typed for it.
        summary: One sentence for the help.
        commands: The subcommands by name, in the order of the help.
    """
    app = typer.Typer(
        name=name,
        cls=NearNames,
        suggest_commands=False,
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
