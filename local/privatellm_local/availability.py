"""Are operator, ForwardAuth service and sync agent there, and the definitions that they stand on?

The cluster's own account of their Deployments and of the definitions' names. It is what a cluster says,
so it is believed only while the API server runs; whether pods are of today is asked by
:mod:`privatellm_local.freshness`.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privatellm.errors import PrivateLLMError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm_local.platform.facts import (
    AUTHSERVER,
    OPERATOR,
    SYNC_AGENT,
    SYSTEM_NAMESPACE,
)

Manifest = dict[str, Any]

PARTS = (AUTHSERVER, OPERATOR)
"""The Deployments without which no private LLM is served."""

KCP_PARTS = (SYNC_AGENT,)
"""The Deployments without which no workspace is served."""

LOOK_SECONDS = 3.0
"""How long an API server may take to answer somebody who only wants to look."""


@dataclass(frozen=True, slots=True)
class Availability:
    """How much of a Deployment there is."""

    name: str
    wanted: int = 0
    """Replicas that shall run."""

    ready: int = 0
    is_known: bool = True
    """The API server has answered."""

    exists: bool = True
    is_current: bool = True
    """All replicas are of the newest template."""

    @property
    def is_available(self) -> bool:
        """Whether it runs, whole and in its newest form."""
        return self.wanted > 0 and self.ready == self.wanted and self.is_current

    @property
    def trouble(self) -> str:
        """What is wrong, as the end of a sentence that begins with the name; empty when nothing is."""
        if self.is_available:
            return ""
        if not self.is_known:
            return "could not be asked for: the API server does not answer"
        if not self.exists:
            return "does not exist"
        if not self.wanted:
            return "is scaled to 0"
        has_enough = self.wanted == self.ready
        age = ", not all of them of the newest form" if has_enough else ""
        return f"has {self.ready} of {self.wanted} replicas ready{age}"


@dataclass(frozen=True, slots=True)
class Found:
    """What there is in a cluster."""

    parts: tuple[Availability, ...] = ()
    missing_definitions: tuple[str, ...] = ()
    """Names of CustomResourceDefinitions; none when the API server does not answer."""


def availability(name: str, deployment: Manifest | None) -> Availability:
    """Return how much of a Deployment there is; ``None`` stands for an absent one."""
    if deployment is None:
        return Availability(name, exists=False)
    wanted, status = deployment["spec"]["replicas"], deployment.get("status", {})
    is_observed = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    counts = (status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    return Availability(
        name,
        wanted=wanted,
        ready=status.get("readyReplicas", 0),
        is_current=is_observed and counts == (wanted, wanted),
    )


async def look(
    kubeconfig: Path, parts: tuple[str, ...] = PARTS, definitions: Iterable[str] = ()
) -> Found:
    """Return how much there is of these parts and definitions; never fails, because looking must not."""
    try:
        async with asyncio.timeout(LOOK_SECONDS), await KubeClient.connect(kubeconfig) as client:
            deployments = await _by_name(client, kinds.DEPLOYMENT, SYSTEM_NAMESPACE)
            defined = await _by_name(client, kinds.CUSTOM_RESOURCE_DEFINITION)
    except (PrivateLLMError, OSError, TimeoutError):
        return Found(tuple(Availability(name, is_known=False) for name in parts))
    return Found(
        parts=tuple(availability(name, deployments.get(name)) for name in parts),
        missing_definitions=tuple(sorted(set(definitions) - defined.keys())),
    )


async def _by_name(
    client: KubeClient, kind: Kind, namespace: str | None = None
) -> dict[str, Manifest]:
    listing = await client.list(kind, namespace)
    return {item["metadata"]["name"]: item for item in listing.items}
