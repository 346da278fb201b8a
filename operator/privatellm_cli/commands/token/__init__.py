"""``privatellm token``: the keys of private LLMs; one file a subcommand."""

import typer

from privatellm_cli.commands.token.create import create
from privatellm_cli.commands.token.list import list_
from privatellm_cli.commands.token.revoke import revoke
from privatellm_cli.commands.token.rotate import rotate
from privatellm_cli.groups import help_when_alone


def application() -> typer.Typer:
    """Return the subcommands about keys."""
    app = typer.Typer(
        name="token",
        help="Create, list, rotate and revoke keys.",
        callback=help_when_alone,
        invoke_without_command=True,
        rich_markup_mode=None,
    )
    for command, name in (
        (create, "create"),
        (list_, "list"),
        (rotate, "rotate"),
        (revoke, "revoke"),
    ):
        app.command(name)(command)
    return app
