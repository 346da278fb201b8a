"""``privatellm token list``: which keys there are; the keys themselves are not shown."""

from typing import Annotated

import typer

from privatellm.kube import kinds
from privatellm_cli import columns, completion
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import AllNamespacesOption, OutputOption, on_cluster
from privatellm_cli.output import Format, show_list


@on_cluster
def list_(
    target: Target,
    *,
    instance: Annotated[
        str | None,
        typer.Option(
            "--instance",
            metavar="NAME",
            help="Only keys to this LLMInstance.",
            show_default=False,
            autocompletion=completion.instances,
        ),
    ] = None,
    all_namespaces: AllNamespacesOption = False,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """List keys by their public id, with their end and their last use."""

    async def work(cluster: Cluster) -> None:
        scope = cluster.scope(everywhere=all_namespaces)
        listing = await cluster.client.list(kinds.API_TOKEN_REQUEST, scope)
        found = [
            item
            for item in listing.items
            if instance is None or item["spec"]["instanceName"] == instance
        ]
        remedy = "Create one: privatellm token create INSTANCE"
        nothing = cluster.nothing("key", remedy, everywhere=all_namespaces)
        shown = columns.requests(with_namespace=all_namespaces)
        show_list(found, shown, output, nothing=nothing)

    in_cluster(target, work)
    return ExitCode.OK
