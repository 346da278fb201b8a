"""Events: what a person sees under ``kubectl describe``.

An event is a courtesy. A pass that did its work is not undone because the API server refused to take note
of it, as it does in a namespace that goes away; so a failure is logged and nothing more.
"""

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import GROUP

log = structlog.get_logger(__name__)

CONTROLLER = f"{GROUP}/operator"
"""Our name in events (``reportingController``)."""

LONGEST_NOTE = 1024
"""Bytes of UTF-8 that the API server accepts in a note."""

LONGEST_STEM = 200
"""Characters of the object's name in the event's name; a random end makes it unique."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """Something that happened and that people should be able to see.

    Attributes:
        reason: Why, in CamelCase, for machines.
        note: What happened and, where something is wrong, what to do.
        action: What the operator did or tried, in CamelCase.
        warning: Whether somebody has to act.
    """

    reason: str
    note: str
    action: str = "Reconcile"
    warning: bool = False


class EventRecorder:
    """Writes ``events.k8s.io/v1`` Events in the name of one process."""

    def __init__(
        self, client: KubeClient, clock: Callable[[], datetime], instance: str = ""
    ) -> None:
        """Take note of who reports.

        Args:
            client: Where events are written.
            clock: Tells the time in UTC.
            instance: Name of the pod; empty uses the host's name.
        """
        self._client = client
        self._clock = clock
        self._instance = instance or socket.gethostname()

    async def record(self, regarding: Manifest, announcement: Announcement) -> None:
        """Write an event about an object, if the API server takes it."""
        event = event_about(regarding, announcement, instance=self._instance, moment=self._clock())
        try:
            await self._client.create(kinds.EVENT, event)
        except KubernetesError as error:
            log.info("event not recorded", reason=announcement.reason, error=str(error))


def event_about(
    regarding: Manifest, announcement: Announcement, *, instance: str, moment: datetime
) -> Manifest:
    """Return the event that announces something about an object.

    Args:
        regarding: The object, with ``apiVersion`` and ``kind``.
        announcement: What is told.
        instance: Name of the reporting process.
        moment: When it happened.
    """
    metadata = regarding["metadata"]
    namespace = metadata.get("namespace") or "default"
    stem = metadata["name"][:LONGEST_STEM].rstrip(".-")
    return {
        "apiVersion": kinds.EVENT.api_version,
        "kind": kinds.EVENT.name,
        "metadata": {"name": f"{stem}.{secrets.token_hex(8)}", "namespace": namespace},
        "eventTime": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning" if announcement.warning else "Normal",
        "reason": announcement.reason,
        "action": announcement.action,
        "note": _cut(announcement.note),
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
        "regarding": {
            "apiVersion": regarding["apiVersion"],
            "kind": regarding["kind"],
            "namespace": metadata.get("namespace", ""),
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
    }


def _cut(note: str) -> str:
    return note.encode()[:LONGEST_NOTE].decode(errors="ignore")
