"""``privatellm delete``: end a private LLM and every key to it."""

from typing import Annotated

import typer

from privatellm.kube import kinds
from privatellm_cli.cluster import Cluster, Name, Target, in_cluster
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import InstanceArgument, TimeoutOption, on_cluster
from privatellm_cli.waiting import GONE_SECONDS, until_gone


@on_cluster
def delete(
    target: Target,
    name: InstanceArgument,
    *,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Delete its token requests and their Secrets too.")
    ] = False,
    ignore_not_found: Annotated[
        bool, typer.Option("--ignore-not-found", help="Succeed when there is none.")
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return before it is gone.")] = False,
    timeout: TimeoutOption = GONE_SECONDS,
) -> ExitCode:
    """Delete a private LLM. Its keys end at once, also when one of the same name is ordered later."""

    async def work(cluster: Cluster) -> None:
        place = cluster.name(name)
        found = await cluster.client.get(kinds.LLM_INSTANCE, place.name, place.namespace)
        if found is None and ignore_not_found:
            typer.echo(f"There is no LLMInstance {place.text}.")
        else:
            found = found or await cluster.require(kinds.LLM_INSTANCE, place)
            uid = found["metadata"]["uid"]
            await cluster.client.delete(kinds.LLM_INSTANCE, place.name, place.namespace, uid=uid)
            if not no_wait:
                await until_gone(cluster, place, uid, timeout)
            typer.echo(f"LLMInstance {place.text} deleted.")
        await _settle_requests(cluster, place, remove=tokens)

    in_cluster(target, work)
    return ExitCode.OK


async def _settle_requests(cluster: Cluster, place: Name, *, remove: bool) -> None:
    listing = await cluster.client.list(kinds.API_TOKEN_REQUEST, place.namespace)
    names = [
        item["metadata"]["name"]
        for item in listing.items
        if item["spec"]["instanceName"] == place.name
    ]
    if not names:
        return
    if remove:
        for request in names:
            await cluster.client.delete(kinds.API_TOKEN_REQUEST, request, place.namespace)
            typer.echo(f"APITokenRequest {place.namespace}/{request} deleted.")
        return
    typer.echo(
        f"Token requests for it stay and get new keys when {place.name} is ordered again: "
        f"{', '.join(names)}. Delete them too with --tokens."
    )
