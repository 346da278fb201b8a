"""Keeping the picture true: one list a kind at start, and again now and then.

Kinds that are watched in some namespaces only look after themselves (see ``handlers.namespaced``).
A watch that breaks for long comes back without the deletions that it missed, so a list replaces what is
known from time to time. A kind whose definition is missing lists as empty; the parts that need it say so.

A namespace in which we may not look (its bindings are missing, or it is gone) keeps nobody from seeing the
others: what was known of it stays. Its watch says so, and lists it as soon as the right is there.
"""

import asyncio
from collections.abc import Iterable, Iterator

import structlog

from privatellm.errors import ForbiddenError, KubernetesError, NotFoundError
from privatellm.kube import KubeClient, Listing, Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.world.cache import World
from privatellm_operator.world.watched import Scope

log = structlog.get_logger(__name__)

Change = tuple[Kind, Manifest]


async def refresh(
    client: KubeClient, world: World, namespaces: Iterable[str | None]
) -> tuple[Change, ...]:
    """List every kind that is not watched in few namespaces and return what differs from what was known.

    Args:
        client: Where to list.
        world: What is brought up to date.
        namespaces: Where to list what is listed in customers' namespaces; ``None`` for everywhere.

    Raises:
        KubernetesError: when the API server refuses a list of all the cluster, or does not answer.
    """
    targets = tuple(_targets(world, tuple(namespaces)))
    listings = await asyncio.gather(
        *(_listed(client, world, kind, namespace) for kind, namespace in targets)
    )
    return tuple(
        (kind, manifest)
        for (kind, namespace), listing in zip(targets, listings, strict=True)
        if listing is not None
        for manifest in world[kind].replace(listing, namespace)
    )


def _targets(world: World, namespaces: tuple[str | None, ...]) -> Iterator[tuple[Kind, str | None]]:
    for kind in world.kinds:
        scope = world[kind].watching.scope
        if scope is Scope.EVERYWHERE:
            yield kind, None
        elif scope is Scope.TENANTS:
            yield from ((kind, namespace) for namespace in namespaces)


async def _listed(
    client: KubeClient, world: World, kind: Kind, namespace: str | None
) -> Listing | None:
    try:
        return await client.list(kind, namespace, labels=world[kind].watching.selector)
    except NotFoundError:
        log.warning("kind is not defined in this cluster", kind=kind.name, group=kind.group)
        return None
    except ForbiddenError as error:
        if namespace is None:
            raise
        log.debug("list refused", kind=kind.name, namespace=namespace, error=str(error))
        return None


async def refresh_patiently(
    client: KubeClient, world: World, namespaces: Iterable[str | None], *, pause: float = 2.0
) -> tuple[Change, ...]:
    """Do as :func:`refresh` until it succeeds.

    Args:
        client: Where to list.
        world: What is brought up to date.
        namespaces: Where to list namespaced kinds.
        pause: Seconds between two attempts.
    """
    wanted = tuple(namespaces)
    while True:
        try:
            return await refresh(client, world, wanted)
        except KubernetesError as error:
            log.warning("listing failed", error=str(error), retry_in=pause)
            await asyncio.sleep(pause)
