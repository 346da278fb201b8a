"""Watches of single objects that are in the way of ours.

What others make is not in our picture: it does not carry our label. So a name that somebody else has would
be tried again now and then. While an instance waits for one, the object is watched by its name alone; a
change asks for a pass, which looks for itself and then says what is still in the way.

A watch that breaks is not begun anew here. The passes over a blocked instance go on now and then, and each
asks for the watches that it needs.
"""

import asyncio
from collections.abc import Iterable

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.world.obstacles import Obstacle

log = structlog.get_logger(__name__)

MOST_WATCHES = 100
"""Connections that this may take; who waits beyond it comes back by itself."""

WATCH_SECONDS = 300


class ObstacleWatches:
    """The watches of one process."""

    def __init__(self, client: KubeClient, queue: WorkQueue) -> None:
        """Take note of whom to ask.

        Args:
            client: For watches, each of which holds a connection.
            queue: Where a pass is asked for.
        """
        self._client = client
        self._queue = queue
        self._tasks: dict[tuple[Key, Obstacle], asyncio.Task[None]] = {}

    def watch(self, key: Key, obstacles: Iterable[Obstacle]) -> None:
        """Look at exactly these obstacles for an object, and at none when there are none."""
        wanted = {(key, obstacle) for obstacle in obstacles}
        for stale in [k for k in self._tasks if k[0] == key and k not in wanted]:
            self._tasks.pop(stale).cancel()
        for missing in wanted - self._tasks.keys():
            if len(self._tasks) < MOST_WATCHES:
                self._tasks[missing] = asyncio.create_task(self._until_changed(*missing))

    async def close(self) -> None:
        """End every watch."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_changed(self, key: Key, obstacle: Obstacle) -> None:
        stream = self._client.watch(
            obstacle.kind,
            obstacle.namespace,
            resource_version=obstacle.version,
            fields=f"metadata.name={obstacle.name}",
            timeout_seconds=WATCH_SECONDS,
        )
        try:
            async for event in stream:
                if event.type != "BOOKMARK":
                    self._queue.add(key)
        except KubernetesError as error:
            log.info("watch of an obstacle broke", object=key.label, error=str(error))
        self._tasks.pop((key, obstacle), None)
