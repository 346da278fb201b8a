"""Wait for an object to reach a state, by watching it and never by polling.

A deadline is the caller's: wrap the call in ``asyncio.timeout``. What can heal (an API server that
restarts, a version that expired) is survived by starting from a new list.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from privatellm.errors import KubernetesError
from privatellm.kube.client import KubeClient, Manifest
from privatellm.kube.kinds import Kind

RETRY_SECONDS = 0.5
"""Pause before a new list after a failure that can heal."""


async def states(
    client: KubeClient, kind: Kind, name: str, namespace: str | None = None
) -> AsyncGenerator[Manifest | None, None]:
    """Yield an object as it is now and then after every change; ``None`` while it does not exist.

    Raises:
        KubernetesError: for failures that waiting cannot heal, such as missing rights.
    """
    while True:
        try:
            async with aclosing(_until_broken(client, kind, name, namespace)) as seen:
                async for state in seen:
                    yield state
        except KubernetesError as error:
            if not error.retryable:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def wait_for(
    client: KubeClient,
    kind: Kind,
    name: str,
    namespace: str | None,
    reached: Callable[[Manifest | None], bool],
) -> Manifest | None:
    """Return the object once ``reached`` says so; ``None`` stands for an absent object."""
    async with aclosing(states(client, kind, name, namespace)) as seen:
        async for state in seen:
            if reached(state):
                return state
    raise AssertionError("states() never ends by itself")


async def _until_broken(
    client: KubeClient, kind: Kind, name: str, namespace: str | None
) -> AsyncGenerator[Manifest | None, None]:
    selector = f"metadata.name={name}"
    listing = await client.list(kind, namespace, fields=selector)
    yield listing.items[0] if listing.items else None
    version = listing.resource_version
    async for event in client.watch(kind, namespace, resource_version=version, fields=selector):
        if event.type in ("ADDED", "MODIFIED"):
            yield event.object
        elif event.type == "DELETED":
            yield None
