"""``privatellm catalog pin``: name exactly the bytes that a model's hub has now."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privatellm.kube import Manifest, kinds
from privatellm_cli import completion
from privatellm_cli.cluster import Cluster, Name, Target, in_cluster
from privatellm_cli.errors import UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import on_cluster
from privatellm_cli.pinning import models

if TYPE_CHECKING:
    from privatellm_cli.pinning.hub import Hub

HUB = "https://huggingface.co"
STANDARD_INPUT = "-"


@on_cluster
def pin(
    target: Target,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="YAML with one LLMModel or several; - reads standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    from_cluster: Annotated[
        str | None,
        typer.Option(
            "--from-cluster",
            metavar="NAME",
            help="An LLMModel of the cluster instead of a file.",
            show_default=False,
            autocompletion=completion.models,
        ),
    ] = None,
    mirror: Annotated[
        str,
        typer.Option(
            "--mirror",
            metavar="URL",
            envvar="PRIVATE_LLM_MIRROR",
            help="Base URL of the hub.",
            show_envvar=False,
        ),
    ] = HUB,
) -> ExitCode:
    """Fill in commit, digest and size of models from a hub.

    It prints the models as YAML with `revision`, `sha256` and `sizeBytes` of the file that the hub has now,
    and changes nothing else. What is declared already is compared and never replaced. No file is
    downloaded. The variable HF_TOKEN opens repositories that are not public.
    """
    if (file is None) == (from_cluster is None):
        raise UsageError("Give the FILE of a model (- for standard input) or --from-cluster NAME.")
    if file is not None and target.is_explicit:
        raise UsageError(
            "A FILE needs no cluster: --kubeconfig and the like go with --from-cluster."
        )
    documents = _from_file(file) if file is not None else _from_cluster(target, from_cluster or "")
    typer.echo(models.text_of(_all_pinned(documents, mirror or HUB)), nl=False)
    return ExitCode.OK


def _all_pinned(documents: list[Manifest], mirror: str) -> list[Manifest]:
    # Needs httpx, which the other commands do without.
    from privatellm_cli.pinning.hub import Hub, token_of_environment  # noqa: PLC0415

    with Hub(mirror, token_of_environment()) as hub:
        return [_pinned(hub, found) if models.is_model(found) else found for found in documents]


def _pinned(hub: "Hub", model: Manifest) -> Manifest:
    source = models.source_of(model)
    if source is not None:
        return models.pinned(model, hub.pin(source))
    typer.echo(
        f"note: LLMModel {models.name_of(model)} does not come from a hub and is left as it is.",
        err=True,
    )
    return model


def _from_file(file: str) -> list[Manifest]:
    if file == STANDARD_INPUT:
        return models.read(sys.stdin.read(), "Standard input")
    try:
        return models.read(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error


def _from_cluster(target: Target, name: str) -> list[Manifest]:
    async def work(cluster: Cluster) -> Manifest:
        return await cluster.require(kinds.LLM_MODEL, Name("", name))

    return [models.as_written(in_cluster(target, work))]
