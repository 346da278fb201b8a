"""``privatellm doctor``: what an installation lacks, and what is not safe about it."""

import typer

from privatellm_cli.cluster import Cluster, Target, in_cluster, kubeconfig_for
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import OutputOption, SystemNamespaceOption, on_cluster
from privatellm_cli.output import Format, document


@on_cluster
def doctor(
    target: Target,
    *,
    system_namespace: SystemNamespaceOption = "private-llm-system",
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """Look for what is wrong with the platform, and say what to do.

    It looks at cluster, edge, rights, policies and models, and changes nothing. Returns 13 when something
    has to be mended.
    """
    # Needs httpx, which the other commands do without.
    from privatellm_cli.doctor import checks, gathering, report  # noqa: PLC0415
    from privatellm_cli.doctor.facts import Facts  # noqa: PLC0415

    kubeconfig = gathering.kubeconfig_of(kubeconfig_for(target))

    async def work(cluster: Cluster) -> Facts:
        return await gathering.gather(cluster, system_namespace, kubeconfig)

    findings = checks.examine(in_cluster(target, work))
    if output.is_document:
        typer.echo(document(report.document(findings), output))
    else:
        typer.echo(report.text(findings))
    return ExitCode.FINDINGS if report.has_failures(findings) else ExitCode.OK
