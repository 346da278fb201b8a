"""What a shell offers after Tab: names of objects in the cluster that the words so far name.

Completion must never disturb the line that is being typed: whatever goes wrong, nothing is offered.
"""

import asyncio
from pathlib import Path

import typer

from privatellm.kube import kinds
from privatellm.kube.kinds import Kind
from privatellm_cli.cluster import Target, connected

PATIENCE_SECONDS = 3.0
"""How long a person waits after Tab before the cluster counts as silent."""


def instances(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of instances that begin like the word so far."""
    return _names(kinds.LLM_INSTANCE, context, incomplete)


def requests(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of token requests that begin like the word so far."""
    return _names(kinds.API_TOKEN_REQUEST, context, incomplete)


def models(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of models that begin like the word so far."""
    return _names(kinds.LLM_MODEL, context, incomplete)


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Return the namespaces that begin like the word so far, as far as one may list them."""
    return _names(kinds.NAMESPACE, context, incomplete)


def _names(kind: Kind, context: typer.Context, incomplete: str) -> list[str]:
    given = context.params
    kubeconfig = given.get("kubeconfig")
    target = Target(
        Path(kubeconfig) if kubeconfig else None, given.get("context"), given.get("namespace")
    )
    try:
        names = asyncio.run(_listed(kind, target))
    except Exception:  # noqa: BLE001 - a traceback in the middle of a typed line helps nobody
        return []
    return [name for name in names if name.startswith(incomplete)]


async def _listed(kind: Kind, target: Target) -> list[str]:
    async with asyncio.timeout(PATIENCE_SECONDS), connected(target) as cluster:
        listing = await cluster.client.list(kind, cluster.namespace if kind.namespaced else None)
    return [item["metadata"]["name"] for item in listing.items]
