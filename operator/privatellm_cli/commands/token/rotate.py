"""``privatellm token rotate``: replace one key, or every key of the platform."""

import sys
from typing import Annotated

import typer

from privatellm.api.api_token_request import APITokenRequest
from privatellm_cli import completion, delivery, rotation
from privatellm_cli.cluster import Cluster, Target, in_cluster
from privatellm_cli.delivery import EnvOption, JsonOption
from privatellm_cli.display import progress_for
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.keys import KEY_SECONDS
from privatellm_cli.options import (
    OutputOption,
    TimeoutOption,
    TokenNamespaceOption,
    on_cluster,
)
from privatellm_cli.output import Format

NameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[REQUEST]",
        help="An APITokenRequest as NAME or NAMESPACE/NAME.",
        show_default=False,
        autocompletion=completion.requests,
    ),
]

EveryOption = Annotated[
    bool,
    typer.Option("--all", help="End every key of the platform and issue new ones instead."),
]


@on_cluster
def rotate(  # noqa: PLR0913 - each is an option of the command
    target: Target,
    name: NameArgument = None,
    *,
    every: EveryOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --all.")] = False,
    token_namespace: TokenNamespaceOption = "private-llm-tokens",  # noqa: S107 - a namespace
    env: EnvOption = False,
    json: JsonOption = False,
    output: OutputOption = Format.TABLE,
    timeout: TimeoutOption = KEY_SECONDS,
) -> ExitCode:
    """Replace a key now. The old one is dead before the new one exists, so there is no overlap.

    --all is for the platform team: it removes every verifier, whoever the key belongs to.
    """
    form = delivery.require_one_form(env=env, json=json, output=output)
    if (name is None) != every:
        raise UsageError("Rotate one thing: give the name of a REQUEST, or --all for every key.")
    if every and (env or form.is_document):
        raise UsageError("--all shows no keys: each stays in its customer's Secret.")

    async def one(cluster: Cluster) -> None:
        place = cluster.name(name or "")
        old, key = await rotation.rotate_one(cluster, place, timeout)
        if not delivery.hand_over(key, env=env, output=form):
            typer.echo(
                f"The key {old} of {place.text} is dead; the Secret holds the key "
                f"{key.request.status.key_id} now. Restart what read the old one."
            )

    async def all_of_them(cluster: Cluster) -> None:
        found = await rotation.to_end(cluster, token_namespace)
        _confirm(len(found), cluster.client.server, yes=yes)
        progress = progress_for()
        progress.begin("rotating")
        try:
            ended = await rotation.end_all(cluster, found)
            barred = await rotation.until_reissued(
                cluster, token_namespace, ended, progress, timeout
            )
        finally:
            progress.close()
        typer.echo(
            f"Ended {len(ended.verifiers)} keys; {len(ended.requests) - len(barred)} requests have new "
            "ones in their Secrets. Customers restart what read the old ones."
        )
        for request in barred:
            typer.echo(_why_none(request))

    in_cluster(target, all_of_them if every else one)
    return ExitCode.OK


def _why_none(request: APITokenRequest) -> str:
    place = f"{request.metadata.namespace}/{request.metadata.name}"
    return f"{place} has no new key. {rotation.explanation(request)}".rstrip()


def _confirm(count: int, server: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"--all ends {count} keys at {server} at once: say --yes to do that.")
    question = (
        f"End {count} keys at {server} now? Every client gets 401 until it reads its new key."
    )
    if not typer.confirm(question):
        raise UsageError("Nothing was rotated.")
