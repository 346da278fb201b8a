"""``privatellm deploy``: order a private LLM, or change an order."""

from typing import Annotated

import typer

from privatellm.errors import ForbiddenError
from privatellm.kube import Manifest, kinds
from privatellm_cli import columns, completion, ordering
from privatellm_cli.cluster import Cluster, Name, Target, in_cluster
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

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Name of a model, see `models`.",
        autocompletion=completion.models,
    ),
]

ReplicasOption = Annotated[
    int | None,
    typer.Option(
        "--replicas",
        metavar="N",
        min=0,
        max=MOST_REPLICAS,
        help="Model servers; 0 stops it. Left out: 1 for a new one, else as it is.",
        show_default=False,
    ),
]


@on_cluster
def deploy(
    target: Target,
    name: InstanceArgument,
    *,
    model: ModelOption,
    replicas: ReplicasOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it answers, and show how far it is.")
    ] = False,
    timeout: TimeoutOption = READY_SECONDS,
    force_conflicts: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields that others manage.")
    ] = False,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """Order a private LLM. Doing it again changes nothing; other options change the order."""

    async def work(cluster: Cluster) -> None:
        place = cluster.name(name)
        await _require_model(cluster, model)
        before = await cluster.client.get(kinds.LLM_INSTANCE, place.name, place.namespace)
        count = ordering.kept_replicas(before) if replicas is None else replicas
        order = ordering.manifest(place, model, count)
        stored = await ordering.apply(cluster, order, force=force_conflicts)
        if not output.is_document:
            typer.echo(f"LLMInstance {place.text} {_outcome(before, stored)}.")
        if wait:
            wanted = stored["spec"].get("replicas", 1)
            stored = await until_as_ordered(cluster, place, wanted, progress_for(), timeout)
        _tell(place, stored, output, waited=wait)

    in_cluster(target, work)
    return ExitCode.OK


async def _require_model(cluster: Cluster, model: str) -> None:
    """Refuse a misspelt model at once; who may not read the catalogue learns it from the condition."""
    try:
        await cluster.require(kinds.LLM_MODEL, Name("", model))
    except ForbiddenError:
        return


def _outcome(before: Manifest | None, stored: Manifest) -> str:
    if before is None:
        return "ordered"
    same = before["metadata"]["generation"] == stored["metadata"]["generation"]
    return "unchanged" if same else "changed"


def _tell(place: Name, stored: Manifest, output: Format, *, waited: bool) -> None:
    if output.is_document:
        show_one(stored, (), output)
        return
    if waited:
        show_one(stored, columns.instances(with_namespace=False), output)
        typer.echo()
    typer.echo(next_step(place, stored, waited=waited))


def next_step(place: Name, stored: Manifest, *, waited: bool) -> str:
    """Return what somebody may want to do after an order, as a line to paste.

    Args:
        place: Of the instance.
        stored: The instance; one of no servers answers nothing, waited for or not.
        waited: Whether it was waited for.
    """
    if stored["spec"].get("replicas") == 0:
        return f"It is stopped; start it: privatellm scale {place.text} --replicas 1"
    if waited:
        return f"Get a key for it: privatellm token create {place.text}"
    return f"See how far it is: privatellm describe {place.text}"
