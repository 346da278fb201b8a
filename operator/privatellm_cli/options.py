"""Arguments and options that several subcommands share."""

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from privatellm.durations import parse_duration
from privatellm.errors import InvalidInputError
from privatellm_cli import completion
from privatellm_cli.cluster import Target
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.output import Format

P = ParamSpec("P")

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")

MOST_REPLICAS = 2**31 - 1
"""What the API can count; the platform's own bound is told by the instance's condition."""


StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        help="State directory of the environment (default: private-llm below XDG_STATE_HOME).",
        show_default=False,
        # Whether it can be used is said by the environment, in its own words and with its own code.
        readable=False,
    ),
]

KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig file (default: KUBECONFIG, else ~/.kube/config).",
        show_default=False,
    ),
]

ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig.",
        show_default=False,
        autocompletion=completion.contexts,
    ),
]

NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Namespace (default: the context's, else default).",
        show_default=False,
        autocompletion=completion.namespaces,
    ),
]

AllNamespacesOption = Annotated[
    bool, typer.Option("-A", "--all-namespaces", help="Of all namespaces.")
]

OutputOption = Annotated[
    Format,
    typer.Option(
        "-o",
        "--output",
        metavar="table|wide|json|yaml",
        help="A table for people, a wider one, or JSON or YAML for programs.",
    ),
]

InstanceArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="An LLMInstance as NAME or NAMESPACE/NAME.",
        show_default=False,
        autocompletion=completion.instances,
    ),
]


def seconds(value: str | float) -> float:
    """Return how long to wait, from a number of seconds or a duration as kubectl takes it: ``90``, ``2m``.

    Raises:
        typer.BadParameter: when it is neither, or less than a second.
    """
    text = str(value)
    try:
        wanted = parse_duration(f"{text}s" if _NUMBER.fullmatch(text) else text).total_seconds()
    except InvalidInputError as error:
        raise typer.BadParameter(
            f"It is a number of seconds or a duration, such as 90, 90s or 2m; got {text!r}."
        ) from error
    if wanted < 1:
        raise typer.BadParameter(f"It must be one second or more; got {text!r}.")
    return wanted


TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=seconds,
        help="How long to wait: seconds, or a duration such as 90s or 2m.",
    ),
]

TokenNamespaceOption = Annotated[
    str,
    typer.Option(
        "--token-namespace",
        metavar="NAME",
        help="Where the verifiers are.",
        autocompletion=completion.namespaces,
    ),
]

SystemNamespaceOption = Annotated[
    str,
    typer.Option(
        "--system-namespace",
        metavar="NAME",
        help="Where operator and authserver run.",
        autocompletion=completion.namespaces,
    ),
]


def duration(text: str | None) -> str | None:
    """Return a duration that the API understands, as it was written.

    Raises:
        typer.BadParameter: when it is none.
    """
    try:
        if text is not None:
            parse_duration(text)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error
    return text


_CONNECTION = {
    "kubeconfig": KubeconfigOption,
    "context": ContextOption,
    "namespace": NamespaceOption,
}


def on_cluster(command: Callable[Concatenate[Target, P], ExitCode]) -> Callable[..., ExitCode]:
    """Give a command the connection options, and the target they name as its first argument."""
    signature = inspect.signature(command)
    _, *own = signature.parameters.values()
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in _CONNECTION.items()
    ]

    @functools.wraps(command)
    def with_target(
        *,
        kubeconfig: Path | None = None,
        context: str | None = None,
        namespace: str | None = None,
        **arguments: Any,
    ) -> ExitCode:
        return command(Target(kubeconfig, context, namespace), **arguments)  # type: ignore[call-arg]

    # What typer reads; mypy knows no name for a function that carries its own signature.
    with_target.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return with_target
