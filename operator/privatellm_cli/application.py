"""The ``privatellm`` command: subcommands, and the one place where errors become lines and exit codes."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from privatellm.errors import PrivateLLMError
from privatellm_cli import wording
from privatellm_cli.commands import catalog, token
from privatellm_cli.commands.bench import bench
from privatellm_cli.commands.chat import chat
from privatellm_cli.commands.delete import delete
from privatellm_cli.commands.deploy import deploy
from privatellm_cli.commands.describe import describe
from privatellm_cli.commands.doctor import doctor
from privatellm_cli.commands.down import down
from privatellm_cli.commands.env import env
from privatellm_cli.commands.get import get
from privatellm_cli.commands.list import list_
from privatellm_cli.commands.logs import logs
from privatellm_cli.commands.models import models
from privatellm_cli.commands.scale import scale
from privatellm_cli.commands.status import status
from privatellm_cli.commands.up import up
from privatellm_cli.exit_codes import ExitCode, code_of
from privatellm_cli.groups import NearNames, help_when_alone
from privatellm_cli.main import DEBUG_VARIABLE
from privatellm_cli.output import printable
from privatellm_cli.running import InterruptedByUserError

DISTRIBUTION = "private-llm"
"""What is installed, and what has the version."""

PLUGIN = "kubectl-llm"
"""The name under which kubectl finds this command as `kubectl llm`."""

COMMANDS: tuple[tuple[str, Callable[..., ExitCode]], ...] = (
    ("models", models),
    ("deploy", deploy),
    ("list", list_),
    ("get", get),
    ("describe", describe),
    ("logs", logs),
    ("scale", scale),
    ("delete", delete),
    ("env", env),
    ("chat", chat),
    ("bench", bench),
    ("doctor", doctor),
    ("up", up),
    ("down", down),
    ("status", status),
)
"""Every subcommand but the groups, in the order of the help: a customer's path comes first."""


def application() -> typer.Typer:
    """Return the command line application."""
    app = typer.Typer(
        name="privatellm",
        cls=NearNames,
        suggest_commands=False,
        callback=_root,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, command in COMMANDS:
        app.command(name)(command)
    app.add_typer(token.application())
    app.add_typer(catalog.application())
    return app


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - what an eager flag is given
    if wanted:
        typer.echo(f"privatellm {version(DISTRIBUTION)}")
        raise typer.Exit


def _root(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Private LLMs as a managed service on Kubernetes."""
    help_when_alone(context)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Raises:
        KeyboardInterrupt: when Ctrl-C came while nothing had to be cleaned up.
    """
    try:
        outcome = application()(args=arguments, prog_name=program_name(), standalone_mode=False)
        sys.stdout.flush()
    except (PrivateLLMError, TyperException, BrokenPipeError) as error:
        return _report(error)
    except SystemExit as ended:
        # The parser exits with 1 by itself when nobody reads its output, and after completing a word.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return _report(ended.__context__)
    except Exception as error:  # noqa: BLE001 - the last line of defence against a traceback
        return _report(error)
    if outcome == ExitCode.INTERRUPTED:
        # The parser has swallowed a Ctrl-C and left the number; no command returns it by itself.
        raise KeyboardInterrupt
    return int(outcome or ExitCode.OK)


def program_name(started_as: str | None = None) -> str:
    """Return what a person typed to get here: ``privatellm``, or ``kubectl llm`` for the plugin."""
    is_plugin = Path(started_as or sys.argv[0]).name == PLUGIN
    return PLUGIN.replace("-", " ") if is_plugin else "privatellm"


def _report(error: Exception) -> int:
    if DEBUG_VARIABLE in os.environ:
        raise error
    code, message = _outcome(error)
    if message:
        # It may quote what a hub, a server or another tenant wrote.
        sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")
    return code


def _outcome(error: Exception) -> tuple[int, str]:  # noqa: PLR0911 - a ladder of kinds
    match error:
        case InterruptedByUserError():
            return ExitCode.INTERRUPTED, str(error)
        case BrokenPipeError():
            # Whoever read our output has seen enough.
            _discard_output()
            return ExitCode.OK, ""
        case OSError(errno=errno.ENOSPC | errno.EDQUOT, filename=None):
            # A file of ours would be named; what has no name is our output.
            _discard_output()
            return ExitCode.FAILURE, f"The output cannot be written: {error.strerror}."
        case PrivateLLMError():
            return code_of(error), str(error)
        case TyperException():
            return error.exit_code, wording.plain(error.format_message())
        case ModuleNotFoundError():
            return ExitCode.MACHINE, (
                f"This command needs the Python package {error.name}: install private-llm[local] for "
                "the embedded environment, private-llm[cli] for everything else."
            )
        case _:
            name = type(error).__name__
            return (
                ExitCode.FAILURE,
                f"Unexpected {name}: {error}. Set {DEBUG_VARIABLE}=1 to see where it came from.",
            )


def _discard_output() -> None:
    """Let what is still to be written vanish, so that nothing fails at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
