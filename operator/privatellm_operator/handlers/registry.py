"""kopf's side: which kinds are watched, with which selectors, and what an event does."""

from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from privatellm_operator.context import ProcessContext
from privatellm_operator.handlers.routing import keys_of
from privatellm_operator.queue import Key
from privatellm_operator.world import watched
from privatellm_operator.world.watched import Watched

Handler = Callable[..., Awaitable[None]]

INACTIVITY_SECONDS = 70.0
"""A watch that is silent for longer is broken; the API server sends a bookmark every minute."""


def build_registry(context: ProcessContext, platform: Key) -> kopf.OperatorRegistry:
    """Return a private registry with one event handler a kind.

    Args:
        context: Where events are noted and keys go.
        platform: The key of what all instances share.
    """
    registry = kopf.OperatorRegistry()
    for watching in watched.ALL:
        on_event = kopf.on.event(
            *_selector(watching), registry=registry, id=f"note-{watching.kind.plural}"
        )
        on_event(_handler(watching, context, platform))
    return registry


def build_settings() -> kopf.OperatorSettings:
    """Return kopf's settings: select on the server, write nothing, speak little."""
    settings = kopf.OperatorSettings()
    for watching in watched.ALL:
        if watching.selector:
            settings.watching.label_selectors[_selector(watching)] = watching.selector
    settings.watching.inactivity_timeout = INACTIVITY_SECONDS
    settings.watching.chunk_size = 500
    settings.posting.enabled = False
    return settings


def _selector(watching: Watched) -> tuple[str, str, str]:
    kind = watching.kind
    return kind.group, kind.version, kind.plural


def _handler(watching: Watched, context: ProcessContext, platform: Key) -> Handler:
    async def note(event: kopf.RawEvent, **_: Any) -> None:
        manifest = dict(event["object"])
        if context.world.observe(watching.kind, event["type"], manifest):
            for key in keys_of(watching.kind, manifest, context.world, platform):
                context.queue.add(key)

    return note
