"""kopf's side: the kinds that people write, and what an event does."""

from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from privatellm.kube import Manifest, kinds
from privatellm_operator.handlers.arrivals import Arrivals
from privatellm_operator.handlers.namespaced import NamespacedWatches
from privatellm_operator.world import watched
from privatellm_operator.world.watched import Watched

Handler = Callable[..., Awaitable[None]]

INACTIVITY_SECONDS = 70.0
"""A watch that is silent for longer is broken; the API server sends a bookmark every minute."""

LIST_CHUNK = 500
"""Objects a page of kopf's lists."""

RETRY_DELAYS = (1, 2, 3, *([5] * 720))
"""Seconds between kopf's attempts at one request. After the last one it gives up and ends the process, so
an API server may be gone for an hour, and is found again within seconds."""


def build_registry(arrivals: Arrivals, watches: NamespacedWatches) -> kopf.OperatorRegistry:
    """Return a private registry with one event handler a kind.

    Args:
        arrivals: Takes note of each event.
        watches: Our own watches, started where a parent appears.
    """
    registry = kopf.OperatorRegistry()
    for watching in watched.PARENTS:
        on_event = kopf.on.event(
            *_selector(watching), registry=registry, id=f"note-{watching.kind.plural}"
        )
        on_event(_handler(watching, arrivals, watches))
    return registry


def build_settings() -> kopf.OperatorSettings:
    """Return kopf's settings: notice broken watches, wait for the API server, write nothing."""
    settings = kopf.OperatorSettings()
    settings.watching.inactivity_timeout = INACTIVITY_SECONDS
    settings.watching.chunk_size = LIST_CHUNK
    settings.networking.error_backoffs = RETRY_DELAYS
    settings.posting.enabled = False
    return settings


def _selector(watching: Watched) -> tuple[str, str, str]:
    kind = watching.kind
    return kind.group, kind.version, kind.plural


def _handler(watching: Watched, arrivals: Arrivals, watches: NamespacedWatches) -> Handler:
    kind = watching.kind
    has_secrets = kind in (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST)

    async def note(event: kopf.RawEvent, **_: Any) -> None:
        manifest: Manifest = dict(event["object"])
        namespace = manifest["metadata"].get("namespace", "")
        if has_secrets and arrivals.world[kind].keeps(namespace):
            watches.start(kinds.SECRET, namespace)
        arrivals.note(kind, event["type"], manifest)

    return note
