"""``privatellm env``: shell exports that make tools talk to the environment, or to one private LLM."""

import os
from typing import Annotated

import typer

from privatellm_cli import completion, credentials
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.credentials import Exports
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import OutputOption, StateOption, on_cluster
from privatellm_cli.output import Format, document
from privatellm_cli.running import run
from privatellm_local.paths import state_paths


@on_cluster
def env(
    target: Target,
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="[INSTANCE]",
            help="An LLMInstance as NAME or NAMESPACE/NAME.",
            show_default=False,
            autocompletion=completion.instances,
        ),
    ] = None,
    *,
    state: StateOption = None,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """Print exports for a shell: eval "$(privatellm env)".

    With a kubeconfig (an option or KUBECONFIG), those of an INSTANCE in that cluster. With --state, or
    without a kubeconfig, those of the embedded environment and of an instance in it (the demo's, when
    none is named and there is a demo).
    """
    if state is not None and target.is_explicit:
        raise UsageError(
            "--state names an embedded environment, which is a cluster: give no other."
        )
    if target.is_explicit and instance is None:
        raise UsageError(
            "Of a cluster only an INSTANCE has exports: name one, see `privatellm list`."
        )
    is_of_cluster = target.is_explicit or (
        instance and state is None and "KUBECONFIG" in os.environ
    )
    told = _of_cluster(target, instance or "") if is_of_cluster else _embedded(state, instance)
    if output.is_document:
        typer.echo(document(dict(told.variables), output))
    else:
        for line in told.lines:
            typer.echo(line)
    if told.note:
        typer.echo(f"note: {told.note}", err=True)
    return ExitCode.OK


def _embedded(state: StateOption, instance: str | None) -> Exports:
    # Needs the `local` extra, which a customer's command line does without.
    from privatellm_cli import exports  # noqa: PLC0415
    from privatellm_local import environment  # noqa: PLC0415

    running = environment.require_running(state_paths(state))
    return run(exports.of_environment(running, instance))


def _of_cluster(target: Target, instance: str) -> Exports:
    async def work(cluster: Cluster) -> Exports:
        variables = await credentials.of_instance(cluster, cluster.name(instance))
        return Exports(variables)

    return in_cluster(target, work)
