"""Events on customers' objects, best effort: they tell, nothing depends on them.

A queue of bounded length and one sender keep them off the path of syncing. Right after a binding kcp may
refuse events for a moment, so each is tried a few times; then it is dropped. Nothing of the provider's side
is ever told in one: names and errors of the service cluster stay there.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind

log = structlog.get_logger(__name__)

EVENT = Kind("", "v1", "Event", "events")
"""Core events, as upstream writes them; the claim on them covers both groups."""

QUEUE_LENGTH, TRIES, PAUSE_SECONDS = 1000, 3, 1.0
QUIET_SECONDS, REMEMBERED = 600.0, 2000
FLUSH_SECONDS = 2.0


class Reason(StrEnum):
    """Why an event was written; all but the two about conflicts are upstream's words."""

    ACCEPTED = "ObjectAccepted"
    PLACED = "ObjectPlaced"
    SYNCED = "ObjectSynced"
    STATUS_SYNCED = "ObjectStatusSynced"
    CLEANUP = "ObjectCleanup"
    DELETED = "ObjectDeleted"
    STATUS_SUBRESOURCE_MISSING = "StatusSubresourceMissing"
    FAILED = "ReconcilingError"
    NAME_TAKEN = "NameTaken"
    RELATED_CONFLICT = "RelatedObjectConflict"
    ADDING_SCHEMAS = "AddingResourceSchemas"
    ADDING_CLAIMS = "AddingPermissionClaims"


_WARNINGS = frozenset(
    {
        Reason.FAILED,
        Reason.NAME_TAKEN,
        Reason.RELATED_CONFLICT,
        Reason.STATUS_SUBRESOURCE_MISSING,
    }
)


@dataclass(frozen=True, slots=True)
class _Told:
    client: KubeClient
    event: Manifest


class EventRecorder:
    """Writes events on objects, each at most once in ten minutes."""

    def __init__(
        self, agent: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._agent = agent
        self._clock = clock
        self._queue: asyncio.Queue[_Told] = asyncio.Queue(QUEUE_LENGTH)
        self._recent: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._is_sending = False

    @property
    def is_idle(self) -> bool:
        """Whether every event was sent or given up."""
        return self._queue.empty() and not self._is_sending

    def now(self) -> datetime:
        """Return the time that events carry, for what else tells of the same."""
        return self._clock()

    def tell(self, client: KubeClient, about: Manifest, reason: Reason, message: str) -> None:
        """Queue an event unless the same was told a moment ago or the queue is full."""
        key = (str(about["metadata"].get("uid", "")), reason.value, message)
        if self._is_recent(key) or self._queue.full():
            return
        self._queue.put_nowait(_Told(client, self._event(about, reason, message)))

    async def run(self) -> None:
        """Send events for ever."""
        while True:
            told = await self._queue.get()
            self._is_sending = True
            await self._send(told)
            self._is_sending = False
            self._queue.task_done()

    async def flush(self) -> None:
        """Wait a moment for the events that were told so far."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._queue.join()

    async def _send(self, told: _Told) -> None:
        for attempt in range(TRIES):
            try:
                await told.client.create(EVENT, told.event)
            except KubernetesError as error:
                log.debug("event not written", error=str(error), attempt=attempt)
                await asyncio.sleep(PAUSE_SECONDS * attempt)
            else:
                return

    def _is_recent(self, key: tuple[str, str, str]) -> bool:
        now = time.monotonic()
        if now - self._recent.get(key, float("-inf")) < QUIET_SECONDS:
            return True
        self._recent[key] = now
        self._recent.move_to_end(key)
        if len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)
        return False

    def _event(self, about: Manifest, reason: Reason, message: str) -> Manifest:
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        now = self._clock()
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {
                "name": f"{metadata['name'][:200]}.{time.time_ns():x}",
                "namespace": namespace,
            },
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": metadata["name"],
                "namespace": metadata.get("namespace", ""),
                "uid": metadata.get("uid", ""),
            },
            "reason": reason.value,
            "message": message,
            "type": "Warning" if reason in _WARNINGS else "Normal",
            "source": {"component": self._agent},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
