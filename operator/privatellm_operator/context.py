"""What lives as long as the process and is handed to everybody who needs it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.fetches import ProgressBoard
from privatellm_operator.observing.revocations import Revocations
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.reconcile.restoring import Answers
from privatellm_operator.settings import Settings
from privatellm_operator.world.cache import World
from privatellm_operator.world.obstacles import NoObstacles, Obstacles
from privatellm_operator.world.routing import keys_of, platform_key
from privatellm_operator.world.usage import KeyUsage

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
        progress: What is shown of fetches that run.
        usage: When keys were last used.
        revocations: How long keys lived on after their end.
        answers: What became of writes that others changed on their way.
        obstacles: Tells when a name that somebody else has is free.
    """

    client: KubeClient
    settings: Settings
    platform_key: PlatformKey
    world: World
    queue: WorkQueue
    clock: Clock = utc_now
    progress: ProgressBoard = field(default_factory=ProgressBoard)
    usage: KeyUsage = field(default_factory=KeyUsage)
    revocations: Revocations = field(default_factory=Revocations)
    answers: Answers = field(default_factory=Answers)
    obstacles: Obstacles = field(default_factory=NoObstacles)

    def wrote(self, kind: Kind, answer: Manifest, *, by: Key) -> None:
        """Take note of a pass's own write and wake the passes of others that depend on it.

        The write's echo will be no news, so nobody else would tell them.

        Args:
            kind: What was written.
            answer: What the API server made of it.
            by: Whose pass wrote it; that one knows already.
        """
        if self.world.observe(kind, "MODIFIED", answer):
            shared = platform_key(self.settings.pod.namespace)
            for key in keys_of(kind, answer, self.world, shared):
                if key != by:
                    self.queue.add(key)
