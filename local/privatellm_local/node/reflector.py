"""A list, then a watch, for ever: the one way in which the node learns about objects.

A new list always replaces what was known, because what vanished while nobody watched is reported by
nothing else.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from privatellm.errors import ExpiredError, KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind

_log = logging.getLogger(__name__)

WATCH_SECONDS = 60
"""How long one watch lasts; a connection that broke in silence is noticed soon after."""


class Sink(Protocol):
    """Who wants to know."""

    def replace(self, items: tuple[Manifest, ...]) -> None:
        """These objects exist, and no others."""

    def changed(self, item: Manifest) -> None:
        """An object was added or modified."""

    def deleted(self, item: Manifest) -> None:
        """An object is gone."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects."""

    kind: Kind
    fields: str = ""


async def reflect(
    client: KubeClient, selection: Selection, sink: Sink, retry_seconds: float
) -> None:
    """Feed a sink until cancelled; an API server that is away is asked again."""
    while True:
        try:
            await _session(client, selection, sink)
        except ExpiredError:
            continue
        except KubernetesError as error:
            _log.warning("%s cannot be watched: %s", selection.kind.plural, error)
            await asyncio.sleep(retry_seconds)


async def _session(client: KubeClient, selection: Selection, sink: Sink) -> None:
    listing = await client.list(selection.kind, fields=selection.fields)
    sink.replace(listing.items)
    version = listing.resource_version
    while True:
        async for event in client.watch(
            selection.kind,
            fields=selection.fields,
            resource_version=version,
            timeout_seconds=WATCH_SECONDS,
        ):
            version = event.object["metadata"]["resourceVersion"]
            _handlers(sink)[event.type](event.object)


def _handlers(sink: Sink) -> dict[str, Callable[[Manifest], None]]:
    return {
        "ADDED": sink.changed,
        "MODIFIED": sink.changed,
        "DELETED": sink.deleted,
        "BOOKMARK": lambda _: None,
    }
