"""``privatellm token revoke``: end a key for good."""

import asyncio
from typing import Annotated

import typer

from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.kube import Manifest, kinds
from privatellm.kube.waiting import wait_for
from privatellm_cli import columns, completion
from privatellm_cli.cluster import FIELD_MANAGER, Cluster, Target, in_cluster
from privatellm_cli.errors import OverdueError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.keys import KEY_SECONDS
from privatellm_cli.options import OutputOption, TimeoutOption, on_cluster
from privatellm_cli.output import Format, show_one


@on_cluster
def revoke(
    target: Target,
    name: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST",
            help="An APITokenRequest as NAME or NAMESPACE/NAME.",
            show_default=False,
            autocompletion=completion.requests,
        ),
    ],
    *,
    timeout: TimeoutOption = KEY_SECONDS,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """End a key for good. The request stays as a record; a new key needs a new request."""

    async def work(cluster: Cluster) -> None:
        place = cluster.name(name)
        await cluster.require(kinds.API_TOKEN_REQUEST, place)
        await cluster.client.patch(
            kinds.API_TOKEN_REQUEST,
            place.name,
            place.namespace,
            {"spec": {"revoked": True}},
            field_manager=FIELD_MANAGER,
        )
        try:
            async with asyncio.timeout(timeout):
                ended = await wait_for(
                    cluster.client, kinds.API_TOKEN_REQUEST, place.name, place.namespace, _is_over
                )
        except TimeoutError:
            raise OverdueError(
                f"The revocation of {place.text} is stored, and the operator has not ended the key within "
                f"{timeout:g} s. The key still works: is the operator running (`privatellm doctor`)?"
            ) from None
        if output is Format.TABLE or ended is None:
            typer.echo(f"APITokenRequest {place.text} is revoked: its key opens nothing any more.")
        else:
            show_one(ended, columns.requests(with_namespace=False), output)

    in_cluster(target, work)
    return ExitCode.OK


def _is_over(state: Manifest | None) -> bool:
    return state is None or APITokenRequest.parse(state).status.phase is TokenPhase.REVOKED
