"""Bring the embedded environment up and say how to use it; needs the ``local`` extra."""

import typer

from privatellm_cli import exports, invocation
from privatellm_local import environment
from privatellm_local.demo import Ended, names
from privatellm_local.demo.question import QUESTION, curl_line
from privatellm_local.environment import Running
from privatellm_local.paths import StatePaths
from privatellm_local.progress import Progress
from privatellm_local.steps import Options
from privatellm_local.workspaces.names import CUSTOMER_KUBECONFIG


async def bring_up(options: Options, progress: Progress) -> None:
    """Bring the environment up, say how to use it, and stay with it when asked to."""
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
    return "\n".join(
        (
            headline,
            "",
            f"  edge          {plan.edge_url}",
            f"  kubernetes    {plan.apiserver_url}",
            f"  state         {paths.root}",
            *_workspaces(running),
            "",
            *await _demonstration(running),
            f'Use it from a shell:  eval "$({invocation.command(paths, "env")})"',
            f"Look at it:           {invocation.command(paths, 'status')}",
            f"Stop it:              {invocation.command(paths, 'down')}",
        )
    )


def _workspaces(running: Running) -> tuple[str, ...]:
    if not running.has_kcp:
        return ()
    customer = running.paths.kubeconfig(CUSTOMER_KUBECONFIG)
    return (
        f"  kcp           {running.plan.kcp_url}",
        f"  workspace     {customer} (KUBECONFIG of a customer)",
    )


def _way_back(paths: StatePaths, ended: Ended) -> str:
    name = f"{names.NAMESPACE}/{names.INSTANCE}"
    match ended:
        case Ended.INSTANCE:
            start = invocation.in_cluster(paths, "scale", name, "--replicas", "1")
            return f"The demo is stopped; start it with `{start}`."
        case Ended.KEY:
            delete = invocation.in_cluster(paths, "delete", name, "--tokens")
            again = invocation.command(paths, "up")
            return f"The demo's key is revoked; order the demo anew with `{delete}` and `{again}`."


async def _demonstration(running: Running) -> tuple[str, ...]:
    if running.demo_ended is not None:
        return (_way_back(running.paths, running.demo_ended), "")
    if running.answer is None:
        return ()
    return (
        f"Question: {QUESTION}",
        f"Answer:   {running.answer}",
        "",
        "Ask it yourself; these lines work when pasted:",
        "",
        *(await exports.of_environment(running)).lines,
        "",
        curl_line(),
        "",
    )
