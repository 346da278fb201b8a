"""``privatellm describe``: how a private LLM is, why it is not ready, and what to do."""

from datetime import UTC, datetime

import typer

from privatellm_cli import description
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import InstanceArgument, OutputOption, on_cluster
from privatellm_cli.output import Format, document


@on_cluster
def describe(
    target: Target, name: InstanceArgument, *, output: OutputOption = Format.TABLE
) -> ExitCode:
    """Show everything about a private LLM, and what to do about it.

    That is its conditions, servers, keys and events, and the next step when it is not ready.
    """

    async def work(cluster: Cluster) -> None:
        seen = await description.gather(cluster, cluster.name(name))
        if output.is_document:
            typer.echo(document(seen.document(), output))
        else:
            typer.echo(description.text(seen, datetime.now(UTC)))

    in_cluster(target, work)
    return ExitCode.OK
