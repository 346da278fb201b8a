"""What a shell offers after Tab: names of what the words so far point at.

Objects are asked of the cluster that the words name, contexts read from the kubeconfigs, components from
the state directory. Completion must never disturb the line that is being typed: whatever goes wrong,
nothing is offered.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer
from kubernetes.aio.config import list_kube_config_contexts

from privatellm.kube import kinds
from privatellm.kube.kinds import Kind
from privatellm_cli import components as component_logs
from privatellm_cli import pod_logs
from privatellm_cli.cluster import Target, connected, kubeconfig_for
from privatellm_local.paths import state_paths

PATIENCE_SECONDS = 3.0
"""How long a person waits after Tab before the cluster counts as silent."""


def instances(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of instances that begin like the word so far, with a namespace if it has one."""
    return _offered(incomplete, lambda: _placed(kinds.LLM_INSTANCE, context, incomplete))


def requests(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of token requests that begin like the word so far, as those of instances."""
    return _offered(incomplete, lambda: _placed(kinds.API_TOKEN_REQUEST, context, incomplete))


def models(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of models that begin like the word so far."""
    return _offered(incomplete, lambda: _names(kinds.LLM_MODEL, _target(context)))


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Return the namespaces that begin like the word so far, as far as one may list them."""
    return _offered(incomplete, lambda: _names(kinds.NAMESPACE, _target(context)))


def contexts(context: typer.Context, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfigs that begin like the word so far."""
    return _offered(incomplete, lambda: _contexts(_target(context)))


def components(context: typer.Context, incomplete: str) -> list[str]:
    """Return the components of the embedded environment that begin like the word so far."""
    state = context.params.get("state")
    return _offered(
        incomplete, lambda: component_logs.names(state_paths(Path(state) if state else None))
    )


def containers(incomplete: str) -> list[str]:
    """Return the containers of a model server's pod that begin like the word so far."""
    return _offered(incomplete, lambda: pod_logs.CONTAINERS)


def _offered(incomplete: str, look: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return [name for name in look() if name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - a traceback in the middle of a typed line helps nobody
        return []


def _target(context: typer.Context) -> Target:
    given = context.params
    kubeconfig = given.get("kubeconfig")
    return Target(
        Path(kubeconfig) if kubeconfig else None, given.get("context"), given.get("namespace")
    )


def _placed(kind: Kind, context: typer.Context, incomplete: str) -> list[str]:
    target = _target(context)
    namespace, slash, _ = incomplete.partition("/")
    if not slash:
        return _names(kind, target)
    there = Target(target.kubeconfig, target.context, namespace)
    return [f"{namespace}/{name}" for name in _names(kind, there)]


def _names(kind: Kind, target: Target) -> list[str]:
    return asyncio.run(_listed(kind, target))


async def _listed(kind: Kind, target: Target) -> list[str]:
    async with asyncio.timeout(PATIENCE_SECONDS), connected(target) as cluster:
        listing = await cluster.client.list(kind, cluster.namespace if kind.namespaced else None)
    return [item["metadata"]["name"] for item in listing.items]


def _contexts(target: Target) -> list[str]:
    files = str(kubeconfig_for(Target(target.kubeconfig)) or os.environ["KUBECONFIG"])
    found: tuple[list[dict[str, Any]], Any] = list_kube_config_contexts(files)
    return [entry["name"] for entry in found[0]]
