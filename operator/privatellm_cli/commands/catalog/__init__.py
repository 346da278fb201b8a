"""``privatellm catalog``: models before they are offered; one file a subcommand."""

import typer

from privatellm_cli.commands.catalog.pin import pin
from privatellm_cli.groups import group


def application() -> typer.Typer:
    """Return the subcommands about the catalogue."""
    return group("catalog", "Prepare models for the platform's catalogue.", {"pin": pin})
