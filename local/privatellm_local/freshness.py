"""Do the platform's pods run now, or does the cluster only remember that they did?

After a crash etcd still holds yesterday's "available". A container that was started after the
supervisor is a fact of today; nothing older counts.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from privatellm.kube import KubeClient, kinds

POLL_SECONDS = 0.2

Manifest = dict[str, Any]


async def wait_until_fresh(
    client: KubeClient, namespace: str, since: datetime, waiting_for: Callable[[str], None]
) -> None:
    """Wait until all pods of a namespace are ready with containers that were started since then.

    Args:
        client: May list pods.
        namespace: Whose pods.
        since: When the supervisor started, with a time zone.
        waiting_for: Told which pods are not.

    Raises:
        KubernetesError: when the API server refuses, or goes away meanwhile.
    """
    # A handful of pods for a few seconds: asking again is simpler than following a watch.
    while not are_fresh(pods := (await client.list(kinds.POD, namespace)).items, since):
        waiting_for(", ".join(stale(pods, since)) or f"any pod in {namespace}")
        await asyncio.sleep(POLL_SECONDS)


def are_fresh(pods: tuple[Manifest, ...], since: datetime) -> bool:
    """Return whether there are pods, and all that stay are ready and were started since then."""
    return bool(_staying(pods)) and not stale(pods, since)


def stale(pods: tuple[Manifest, ...], since: datetime) -> list[str]:
    """Return the names of the pods that stay and are not ready or were started earlier."""
    return [pod["metadata"]["name"] for pod in _staying(pods) if not _is_fresh(pod, since)]


def _staying(pods: tuple[Manifest, ...]) -> list[Manifest]:
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def _is_fresh(pod: Manifest, since: datetime) -> bool:
    containers = pod.get("status", {}).get("containerStatuses") or []
    return bool(containers) and all(
        container.get("ready") and _started_since(container, since) for container in containers
    )


def _started_since(container: Manifest, since: datetime) -> bool:
    running = container.get("state", {}).get("running") or {}
    if "startedAt" not in running:
        return False
    # Kubernetes cuts times to whole seconds.
    return datetime.fromisoformat(running["startedAt"]) >= since.replace(microsecond=0)
