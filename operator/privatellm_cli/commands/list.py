"""``privatellm list``: which private LLMs there are."""

from privatellm.kube import kinds
from privatellm_cli import columns
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import AllNamespacesOption, OutputOption, on_cluster
from privatellm_cli.output import Format, show_list


@on_cluster
def list_(
    target: Target,
    *,
    all_namespaces: AllNamespacesOption = False,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """List private LLMs with their phase and endpoint."""

    async def work(cluster: Cluster) -> None:
        scope = cluster.scope(everywhere=all_namespaces)
        listing = await cluster.client.list(kinds.LLM_INSTANCE, scope)
        remedy = "Order one: privatellm deploy NAME --model MODEL"
        nothing = cluster.nothing("private LLM", remedy, everywhere=all_namespaces)
        shown = columns.instances(with_namespace=all_namespaces)
        show_list(listing.items, shown, output, nothing=nothing)

    in_cluster(target, work)
    return ExitCode.OK
