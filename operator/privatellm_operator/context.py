"""What lives as long as the process and is handed to everybody who needs it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient
from privatellm_operator.queue import WorkQueue
from privatellm_operator.settings import Settings
from privatellm_operator.world.cache import World

Clock = Callable[[], datetime]
"""Tells the time in UTC."""


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The process's one client, cache, queue and clock.

    Attributes:
        client: Writes and rare reads; everything that is watched is read from ``world``.
        settings: What the platform team decided.
        platform_key: The secret that backend keys derive from.
        world: The last known state of everything that is watched.
        queue: Where a changed object's key goes.
        clock: Tells the time in UTC.
    """

    client: KubeClient
    settings: Settings
    platform_key: PlatformKey
    world: World
    queue: WorkQueue
    clock: Clock = utc_now
