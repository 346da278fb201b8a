"""``privatellm get``: one private LLM."""

from privatellm.kube import kinds
from privatellm_cli import columns
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import InstanceArgument, OutputOption, on_cluster
from privatellm_cli.output import Format, show_one


@on_cluster
def get(target: Target, name: InstanceArgument, *, output: OutputOption = Format.TABLE) -> ExitCode:
    """Show one private LLM; `describe` says more about it."""

    async def work(cluster: Cluster) -> None:
        found = await cluster.require(kinds.LLM_INSTANCE, cluster.name(name))
        show_one(found, columns.instances(with_namespace=False), output)

    in_cluster(target, work)
    return ExitCode.OK
