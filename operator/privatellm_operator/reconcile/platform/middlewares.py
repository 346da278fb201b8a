"""The shared middlewares, in the operator's own namespace.

They are written before any route names them, repaired when somebody changes them, and a model's chain
goes only when no Ingress names it any more: Traefik answers 404 for a route whose middleware is missing.
"""

from collections.abc import Iterable, Iterator

import structlog

from privatellm.api.llm_model import LLMModel
from privatellm.errors import InvalidObjectError, NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.owned import OwnedWriter
from privatellm_operator.reconcile.restoring import Repair, repair_of
from privatellm_operator.render import middlewares
from privatellm_operator.render.ingress import ROUTER, middleware_reference
from privatellm_operator.settings import Settings

log = structlog.get_logger(__name__)

LEFTOVER_SECONDS = 60.0
"""When to look whether a model's old chain can go."""


class MiddlewareReconciler:
    """Keeps the shared middlewares as they should be; its one key stands for all of them."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._owned = OwnedWriter(context)

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass over all middlewares."""
        names = self._names()
        desired = middlewares.build_all(self._context.settings, self._models())
        try:
            await self._write(desired)
        except NotFoundError as error:
            log.warning(
                "Traefik's custom resources are missing: no instance can be routed to. Install the "
                "definitions of the group traefik.io, which Traefik's Helm chart brings.",
                error=str(error),
                object=key.label,
            )
            return None
        if self._names() != names:
            # Instances wait with their routes for their chains.
            self._enqueue_instances()
        return await self._prune(desired)

    def _names(self) -> frozenset[str]:
        store = self._context.world[kinds.MIDDLEWARE]
        return frozenset(m["metadata"]["name"] for m in store.all())

    def _models(self) -> Iterator[LLMModel]:
        for manifest in self._context.world[kinds.LLM_MODEL].all():
            try:
                yield LLMModel.parse(manifest)
            except InvalidObjectError as error:
                log.warning("model ignored", error=str(error))

    async def _write(self, desired: Iterable[Manifest]) -> None:
        store = self._context.world[kinds.MIDDLEWARE]
        for manifest in desired:
            metadata = manifest["metadata"]
            live = store.get(metadata["namespace"], metadata["name"])
            remembered = self._context.answers.of(kinds.MIDDLEWARE, live) if live else None
            needed = repair_of(live, manifest, remembered) if live else Repair.APPLY
            if needed is Repair.APPLY:
                await self._owned.apply(kinds.MIDDLEWARE, manifest, {})
            elif needed is Repair.RESTORE and live is not None:
                await self._owned.restore(kinds.MIDDLEWARE, live, manifest)

    def _enqueue_instances(self) -> None:
        for instance in self._context.world[kinds.LLM_INSTANCE].all():
            metadata = instance["metadata"]
            self._context.queue.add(
                Key(kinds.LLM_INSTANCE, metadata["namespace"], metadata["name"])
            )

    async def _prune(self, desired: Iterable[Manifest]) -> float | None:
        world, settings = self._context.world, self._context.settings
        known = world[kinds.MIDDLEWARE].all()
        unwanted = surplus(known, desired)
        routes = world[kinds.INGRESS].all()
        if unwanted and is_referenced(unwanted, routes, settings):
            return LEFTOVER_SECONDS
        for manifest in unwanted:
            metadata = manifest["metadata"]
            await self._context.client.delete(
                kinds.MIDDLEWARE, metadata["name"], metadata["namespace"], uid=metadata["uid"]
            )
        return None


def surplus(known: Iterable[Manifest], desired: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return the middlewares that exist and are not wanted."""
    wanted = {manifest["metadata"]["name"] for manifest in desired}
    return tuple(manifest for manifest in known if manifest["metadata"]["name"] not in wanted)


def is_referenced(
    unwanted: Iterable[Manifest], routes: Iterable[Manifest], settings: Settings
) -> bool:
    """Say whether a route still names one of these middlewares.

    Args:
        unwanted: Middlewares of the operator's namespace.
        routes: Every Ingress of an instance.
        settings: How references are written.
    """
    references = {middleware_reference(settings, m["metadata"]["name"]) for m in unwanted}
    named = (r["metadata"].get("annotations", {}).get(f"{ROUTER}.middlewares") for r in routes)
    return not references.isdisjoint(named)
