"""``privatellm models``: what can be ordered."""

from privatellm.kube import kinds
from privatellm_cli import columns
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import OutputOption, on_cluster
from privatellm_cli.output import Format, show_list


@on_cluster
def models(target: Target, *, output: OutputOption = Format.TABLE) -> ExitCode:
    """List the models of the platform's catalogue."""

    async def work(cluster: Cluster) -> None:
        listing = await cluster.client.list(kinds.LLM_MODEL)
        nothing = "The catalogue is empty: the platform team fills it with LLMModels."
        show_list(listing.items, columns.models(), output, nothing=nothing)

    in_cluster(target, work)
    return ExitCode.OK
