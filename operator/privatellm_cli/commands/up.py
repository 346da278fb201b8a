"""``privatellm up``: bring the embedded environment up."""

from typing import Annotated

import typer

from privatellm_cli import exports, invocation
from privatellm_cli.display import progress_for
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_cli.running import run
from privatellm_local import environment
from privatellm_local.demo.question import QUESTION, curl_line
from privatellm_local.environment import Running
from privatellm_local.paths import cache_paths, state_paths
from privatellm_local.progress import Progress
from privatellm_local.steps import Options

LOWEST_PORT, HIGHEST_PORT = 1024, 65535


def up(
    state: StateOption = None,
    *,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return when everything is ready; keep it running.")
    ] = False,
    no_demo: Annotated[
        bool, typer.Option("--no-demo", help="Do not order the demo's private LLM.")
    ] = False,
    no_platform: Annotated[
        bool,
        typer.Option(
            "--no-platform",
            help="Leave out operator, ForwardAuth service and catalogue, to install them with Helm.",
        ),
    ] = False,
    edge_port: Annotated[
        int | None,
        typer.Option(
            "--edge-port",
            metavar="N",
            min=LOWEST_PORT,
            max=HIGHEST_PORT,
            help="Port of the edge on 127.0.0.1 (default: chosen from the state directory).",
            show_default=False,
        ),
    ] = None,
) -> ExitCode:
    """Start a real Kubernetes control plane, the edge, a node and the platform on this machine.

    Without --detach the command stays, and Ctrl-C stops everything.
    """
    options = Options(
        paths=state_paths(state),
        cache=cache_paths(),
        edge_port=edge_port,
        demo=not no_demo,
        platform=not no_platform,
        attached=not detach,
    )
    progress = progress_for()
    try:
        run(_up(options, progress))
    finally:
        progress.close()
    return ExitCode.OK


async def _up(options: Options, progress: Progress) -> None:
    running = await environment.up(options, progress)
    progress.close()
    typer.echo(await _summary(running, "Private LLM" if options.platform else "The cluster"))
    if options.attached and not running.was_running:
        typer.echo("\nCtrl-C stops everything.")
        await environment.attend(running, progress)
        typer.echo("Stopped.")


async def _summary(running: Running, what: str) -> str:
    paths, plan = running.paths, running.plan
    headline = f"{what} is {'already running' if running.was_running else 'ready'}."
    demonstration = await _demonstration(running) if running.answer is not None else ()
    return "\n".join(
        (
            headline,
            "",
            f"  edge          {plan.edge_url}",
            f"  kubernetes    {plan.apiserver_url}",
            f"  state         {paths.root}",
            "",
            *demonstration,
            f'Use it from a shell:  eval "$({invocation.command(paths, "env")})"',
            f"Look at it:           {invocation.command(paths, 'status')}",
            f"Stop it:              {invocation.command(paths, 'down')}",
        )
    )


async def _demonstration(running: Running) -> tuple[str, ...]:
    return (
        f"Question: {QUESTION}",
        f"Answer:   {running.answer}",
        "",
        "Ask it yourself; these lines work when pasted:",
        "",
        *await exports.lines(running),
        "",
        curl_line(),
        "",
    )
