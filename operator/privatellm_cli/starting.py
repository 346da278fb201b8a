"""Bring the embedded environment up and say how to use it; needs the ``local`` extra."""

import typer

from privatellm_cli import exports, invocation
from privatellm_local import environment
from privatellm_local.demo import names
from privatellm_local.demo.question import QUESTION, curl_line
from privatellm_local.environment import Running
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


async def _demonstration(running: Running) -> tuple[str, ...]:
    if running.is_demo_stopped:
        scale = ("scale", f"{names.NAMESPACE}/{names.INSTANCE}", "--replicas", "1")
        start = invocation.in_cluster(running.paths, *scale)
        return (f"The demo is stopped; start it with `{start}`.", "")
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
