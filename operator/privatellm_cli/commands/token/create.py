"""``privatellm token create``: ask for a key and print it once."""

import secrets
from typing import Annotated

import typer

from privatellm.kube import Manifest, kinds
from privatellm_cli import delivery
from privatellm_cli.cluster import Cluster, Name, Target, in_cluster
from privatellm_cli.delivery import EnvOption, JsonOption
from privatellm_cli.display import progress_for
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.keys import KEY_SECONDS, until_issued
from privatellm_cli.options import (
    InstanceArgument,
    OutputOption,
    TimeoutOption,
    duration,
    on_cluster,
)
from privatellm_cli.output import Format

NameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of the APITokenRequest (default: the instance's with a random end).",
        show_default=False,
    ),
]

ExpiresAfterOption = Annotated[
    str | None,
    typer.Option(
        "--expires-after",
        metavar="DURATION",
        callback=duration,
        help="Such as 720h; left out: as long as the platform allows.",
        show_default=False,
    ),
]

RotateEveryOption = Annotated[
    str | None,
    typer.Option(
        "--rotate-every",
        metavar="DURATION",
        callback=duration,
        help="Replace the key by itself, such as every 168h.",
        show_default=False,
    ),
]

OverlapOption = Annotated[
    str | None,
    typer.Option(
        "--overlap",
        metavar="DURATION",
        callback=duration,
        help="How long a key that --rotate-every replaced still works.",
        show_default=False,
    ),
]


@on_cluster
def create(  # noqa: PLR0913 - each is an option of the command
    target: Target,
    instance: InstanceArgument,
    *,
    name: NameOption = None,
    expires_after: ExpiresAfterOption = None,
    rotate_every: RotateEveryOption = None,
    overlap: OverlapOption = None,
    description: Annotated[
        str, typer.Option("--description", help="What the key is for.", show_default=False)
    ] = "",
    env: EnvOption = False,
    json: JsonOption = False,
    output: OutputOption = Format.TABLE,
    timeout: TimeoutOption = KEY_SECONDS,
) -> ExitCode:
    """Create a key for a private LLM and print it. It is kept in a Secret and nowhere else."""
    form = delivery.require_one_form(env=env, json=json, output=output)
    if overlap and not rotate_every:
        raise UsageError("--overlap is about keys that are replaced: give --rotate-every too.")
    terms = {
        "description": description or None,
        "expiresAfter": expires_after,
        "rotation": {"every": rotate_every, "overlap": overlap} if rotate_every else None,
    }

    async def work(cluster: Cluster) -> None:
        place = cluster.name(instance)
        await cluster.require(kinds.LLM_INSTANCE, place)
        request = Name(place.namespace, name or f"{place.name}-{secrets.token_hex(3)}")
        await _ask(cluster, request, {"instanceName": place.name} | terms)
        progress = progress_for()
        progress.begin(f"key {request.text}")
        try:
            key = await until_issued(cluster, request, timeout)
        finally:
            progress.close()
        if not delivery.hand_over(key, env=env, output=form):
            delivery.show(key)

    in_cluster(target, work)
    return ExitCode.OK


async def _ask(cluster: Cluster, request: Name, spec: Manifest) -> None:
    manifest = {
        "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
        "kind": kinds.API_TOKEN_REQUEST.name,
        "metadata": {"name": request.name, "namespace": request.namespace},
        "spec": _present(spec),
    }
    await cluster.client.create(kinds.API_TOKEN_REQUEST, manifest)


def _present(spec: Manifest) -> Manifest:
    return {
        name: _present(value) if isinstance(value, dict) else value
        for name, value in spec.items()
        if value is not None
    }
