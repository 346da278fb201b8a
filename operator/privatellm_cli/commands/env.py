"""``privatellm env``: shell exports that make tools talk to the environment."""

import shlex
from typing import Annotated

import typer

from privatellm.kube import KubeClient
from privatellm_cli import credentials
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import StateOption
from privatellm_cli.running import run
from privatellm_local import completion, environment
from privatellm_local.environment import Running
from privatellm_local.paths import state_paths
from privatellm_local.pki import inventory


def env(
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="[INSTANCE]",
            help="An LLMInstance as NAME or NAMESPACE/NAME; the demo's when left out.",
            show_default=False,
        ),
    ] = None,
    state: StateOption = None,
) -> ExitCode:
    """Print exports for a shell: eval "$(privatellm env)"."""
    running = environment.require_running(state_paths(state))
    for name, value in run(_variables(running, instance)).items():
        typer.echo(f"export {name}={shlex.quote(value)}")
    return ExitCode.OK


async def _variables(running: Running, instance: str | None) -> dict[str, str]:
    kubeconfig = running.paths.kubeconfig(inventory.ADMIN.name)
    variables = {"KUBECONFIG": str(kubeconfig), "PRIVATE_LLM_URL": running.plan.edge_url}
    wanted = instance or _demo(running)
    if wanted is not None:
        async with await KubeClient.connect(kubeconfig) as client:
            variables |= await credentials.read(client, credentials.InstanceName.parse(wanted))
    return variables


def _demo(running: Running) -> str | None:
    done = completion.read(running.paths)
    return DEMO_INSTANCE if done and done.demo else None


DEMO_INSTANCE = "demo/demo"
"""Namespace and name of the instance that the demo orders."""
