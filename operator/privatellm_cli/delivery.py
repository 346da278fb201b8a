"""How a key is handed to whoever asked for it: once, on standard output."""

from typing import Annotated

import typer

from privatellm_cli.errors import UsageError
from privatellm_cli.keys import Key
from privatellm_cli.output import Format, document, grid

EnvOption = Annotated[
    bool, typer.Option("--env", help="Print shell exports for the OpenAI SDKs, with the key.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, with the key.")]


def require_one_form(*, env: bool, json: bool, output: Format) -> Format:
    """Refuse two forms at once, before anything is done, and return the one that documents have.

    Raises:
        UsageError: when more than one is asked for.
    """
    if env + json + output.is_document > 1:
        raise UsageError(
            "--env, --json and -o are forms of the same key: give one of them (--json is -o json)."
        )
    return Format.JSON if json else output


def hand_over(key: Key, *, env: bool, output: Format) -> bool:
    """Print a key in the form for programs that was asked for, and say whether there was one."""
    if env:
        typer.echo(key.exports())
    elif output.is_document:
        typer.echo(document(key.document(), output))
    return env or output.is_document


def show(key: Key) -> None:
    """Print a key for a person."""
    facts = key.document()
    rows = [
        ["API key:", key.text],
        ["Base URL:", key.base_url],
        ["Request:", f"{facts['namespace']}/{facts['name']}"],
        ["Secret:", f"{facts['namespace']}/{facts['secretName']}"],
        ["Expires:", facts["expiresAt"] or "never"],
    ]
    typer.echo(grid(rows))
