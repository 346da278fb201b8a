"""``privatellm logs``: what the servers of a private LLM say, or a component of the environment."""

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from privatellm_cli import completion, pod_logs
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption, on_cluster
from privatellm_local import files
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths, state_paths
from privatellm_local.platform import facts
from privatellm_local.processes import logs as component_logs

FOLLOW_SECONDS = 0.2
"""How often a followed log is looked at."""

CHUNK_BYTES = 1 << 16

PLATFORM = {"operator": facts.OPERATOR, "authserver": facts.AUTHSERVER}
"""The Deployments of our own parts, which are pods of the cluster."""


NameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="An LLMInstance as NAME or NAMESPACE/NAME.",
        show_default=False,
        autocompletion=completion.instances,
    ),
]

ComponentOption = Annotated[
    str | None,
    typer.Option(
        "--component",
        metavar="NAME",
        help="A component of the embedded environment instead, see `status`.",
        show_default=False,
    ),
]

ContainerOption = Annotated[
    str | None,
    typer.Option(
        "-c",
        "--container",
        metavar="NAME",
        help="llama-server or fetch-model (default: the one at work).",
        show_default=False,
    ),
]

LinesOption = Annotated[
    int | None,
    typer.Option(
        "--lines", "--tail", metavar="N", min=1, help="Only the last lines.", show_default=False
    ),
]


@on_cluster
def logs(
    target: Target,
    name: NameArgument = None,
    *,
    component: ComponentOption = None,
    state: StateOption = None,
    container: ContainerOption = None,
    previous: Annotated[
        bool, typer.Option("-p", "--previous", help="Of the run before the present one.")
    ] = False,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing.")] = False,
    lines: LinesOption = None,
) -> ExitCode:
    """Print what the servers of a private LLM say.

    With --component what a component of the embedded environment says.
    """
    if (name is None) == (component is None):
        raise UsageError(
            "Logs are of one thing: give the NAME of a private LLM, or --component NAME for a part of "
            "the embedded environment."
        )
    if component is not None:
        _require_no_cluster(target, container, previous=previous)
        return _of_component(state_paths(state), component, lines, follow=follow)
    if state is not None:
        raise UsageError("--state goes with --component; a private LLM is found by --kubeconfig.")
    query = pod_logs.LogQuery(container, previous, follow, lines)

    async def work(cluster: Cluster) -> None:
        await pod_logs.copy(cluster, cluster.name(name or ""), query)

    in_cluster(target, work)
    return ExitCode.OK


def _require_no_cluster(target: Target, container: str | None, *, previous: bool) -> None:
    if target.is_explicit or container or previous:
        raise UsageError(
            "A component is a process of this machine: of the other options only --state, --follow and "
            "--lines go with --component (-n is a namespace)."
        )


def _of_component(
    paths: StatePaths, component: str, lines: int | None, *, follow: bool
) -> ExitCode:
    log = _log_of(paths, component)
    position = 0
    if lines is not None:
        position = component_logs.size(log)
        for line in component_logs.tail(log, lines):
            typer.echo(line)
    position = _copy(log, position)
    while follow:
        time.sleep(FOLLOW_SECONDS)
        position = _copy(log, position)
    return ExitCode.OK


def _log_of(paths: StatePaths, component: str) -> Path:
    names = _components(paths)
    if component in names:
        log = paths.log(component)
        # Once, so that whatever fails later is about the output.
        with files.translated(log):
            log.open("rb").close()
        return log
    if not names:
        raise StateError(f"{paths.root} holds no logs: start an environment with `privatellm up`.")
    raise UsageError(
        f"There is no component {component!r}; there are {', '.join(names)}. Model servers: `privatellm "
        f"logs NAME`. {_of_platform(paths, component)}"
    )


def _components(paths: StatePaths) -> list[str]:
    with files.translated(paths.logs):
        entries = list(paths.logs.iterdir()) if paths.logs.is_dir() else []
    return sorted(entry.stem for entry in entries if entry.suffix == ".log")


def _of_platform(paths: StatePaths, component: str) -> str:
    """Say how to read what our own parts say, which are pods of the cluster."""
    deployment = PLATFORM.get(component, facts.OPERATOR)
    command = (
        *("kubectl", "--kubeconfig", str(paths.kubeconfig("admin"))),
        *("logs", "-n", facts.SYSTEM_NAMESPACE, f"deployment/{deployment}"),
    )
    return f"{' and '.join(PLATFORM)} are pods: {shlex.join(command)}"


def _copy(log: Path, position: int) -> int:
    size = component_logs.size(log)
    if size < position:
        position = 0  # The log was rotated.
    with log.open("rb") as stream:
        stream.seek(position)
        while chunk := stream.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
            position += len(chunk)
    sys.stdout.flush()
    return position
