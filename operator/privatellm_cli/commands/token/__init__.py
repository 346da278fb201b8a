"""``privatellm token``: the keys of private LLMs; one file a subcommand."""

import typer

from privatellm_cli.commands.token.create import create
from privatellm_cli.commands.token.list import list_
from privatellm_cli.commands.token.revoke import revoke
from privatellm_cli.commands.token.rotate import rotate
from privatellm_cli.groups import group


def application() -> typer.Typer:
    """Return the subcommands about keys."""
    commands = {"create": create, "list": list_, "rotate": rotate, "revoke": revoke}
    return group("token", "Create, list, rotate and revoke keys.", commands)
