"""``privatellm scale``: more model servers, fewer, or none."""

from typing import Annotated

import typer

from privatellm.kube import kinds
from privatellm_cli import columns
from privatellm_cli.cluster import FIELD_MANAGER, Cluster, Target, in_cluster
from privatellm_cli.display import progress_for
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import (
    MOST_REPLICAS,
    InstanceArgument,
    OutputOption,
    TimeoutOption,
    on_cluster,
)
from privatellm_cli.output import Format, show_one
from privatellm_cli.waiting import READY_SECONDS, until_as_ordered


@on_cluster
def scale(
    target: Target,
    name: InstanceArgument,
    *,
    replicas: Annotated[
        int,
        typer.Option(
            "--replicas", metavar="N", min=0, max=MOST_REPLICAS, help="Model servers; 0 stops it."
        ),
    ],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until they all answer; with 0, until none is left.")
    ] = False,
    timeout: TimeoutOption = READY_SECONDS,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """Set the number of model servers. With 0 keys stay valid and the endpoint answers 503."""

    async def work(cluster: Cluster) -> None:
        place = cluster.name(name)
        before = await cluster.require(kinds.LLM_INSTANCE, place)
        await cluster.client.patch(
            kinds.LLM_INSTANCE,
            place.name,
            place.namespace,
            {"spec": {"replicas": replicas}},
            subresource="scale",
            field_manager=FIELD_MANAGER,
        )
        if not output.is_document:
            was = before["spec"].get("replicas", 1)
            typer.echo(f"LLMInstance {place.text} scaled from {was} to {replicas}.")
        if wait:
            stored = await until_as_ordered(cluster, place, replicas, progress_for(), timeout)
        else:
            # What scaling answers is a Scale, and not the instance.
            stored = await cluster.require(kinds.LLM_INSTANCE, place)
        if output is not Format.TABLE:
            show_one(stored, columns.instances(with_namespace=False), output)
        elif wait:
            typer.echo("Stopped." if replicas == 0 else "All servers answer.")

    in_cluster(target, work)
    return ExitCode.OK
