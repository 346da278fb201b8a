"""What the components of the embedded environment say: files in its state directory, followed as they grow.

Operator and ForwardAuth service are no components but pods of the cluster, and whoever asks for them here
is told how to read them.
"""

import shlex
import sys
import time
from pathlib import Path

import typer

from privatellm_cli.errors import UsageError
from privatellm_local import files
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.platform import facts
from privatellm_local.processes import logs

FOLLOW_SECONDS = 0.2
"""How often a followed log is looked at."""

CHUNK_BYTES = 1 << 16

PLATFORM = {"operator": facts.OPERATOR, "authserver": facts.AUTHSERVER}
"""The Deployments of our own parts, which are pods of the cluster."""


def names(paths: StatePaths) -> list[str]:
    """Return the components that have said something.

    Raises:
        StateError: when the state directory cannot be read.
    """
    with files.translated(paths.logs, need="readable"):
        entries = list(paths.logs.iterdir()) if paths.logs.is_dir() else []
    return sorted(entry.stem for entry in entries if entry.suffix == ".log")


def log_of(paths: StatePaths, component: str) -> Path:
    """Return the log of a component, which can be read.

    Raises:
        StateError: when it cannot be read, or the directory holds no logs.
        UsageError: when there is no such component.
    """
    known = names(paths)
    if component in known:
        log = paths.log(component)
        # Once, so that whatever fails later is about the output.
        with files.translated(log, need="readable"):
            log.open("rb").close()
        return log
    if not known:
        raise StateError(f"{paths.root} holds no logs: start an environment with `privatellm up`.")
    raise UsageError(
        f"There is no component {component!r}; there are {', '.join(known)}. Model servers: `privatellm "
        f"logs NAME`. {_of_platform(paths, component)}"
    )


def copy(log: Path, lines: int | None, *, follow: bool) -> None:
    """Copy a log to standard output.

    Args:
        log: Of a component.
        lines: How many of the last lines; ``None`` for all.
        follow: Go on until interrupted.
    """
    position = 0
    if lines is not None:
        position = logs.size(log)
        for line in logs.tail(log, lines):
            typer.echo(line)
    position = _copy_from(log, position)
    while follow:
        time.sleep(FOLLOW_SECONDS)
        position = _copy_from(log, position)


def _of_platform(paths: StatePaths, component: str) -> str:
    """Say how to read what our own parts say, which are pods of the cluster."""
    deployment = PLATFORM.get(component, facts.OPERATOR)
    command = (
        *("kubectl", "--kubeconfig", str(paths.kubeconfig("admin"))),
        *("logs", "-n", facts.SYSTEM_NAMESPACE, f"deployment/{deployment}"),
    )
    return f"{' and '.join(PLATFORM)} are pods: {shlex.join(command)}"


def _copy_from(log: Path, position: int) -> int:
    size = logs.size(log)
    if size < position:
        position = 0  # The log was rotated.
    with log.open("rb") as stream:
        stream.seek(position)
        while chunk := stream.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
            position += len(chunk)
    sys.stdout.flush()
    return position
