"""``privatellm logs``: what the servers of a private LLM say, or a component of the environment."""

from typing import Annotated

import typer

from privatellm_cli import completion, components, pod_logs
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption, on_cluster
from privatellm_local.paths import state_paths

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
        autocompletion=completion.components,
    ),
]

ContainerOption = Annotated[
    str | None,
    typer.Option(
        "-c",
        "--container",
        metavar="NAME",
        help="llama-server, fetch-model or drain (default: the one at work).",
        show_default=False,
        autocompletion=completion.containers,
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
        components.copy(components.log_of(state_paths(state), component), lines, follow=follow)
        return ExitCode.OK
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
