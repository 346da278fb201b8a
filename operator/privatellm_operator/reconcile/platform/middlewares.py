"""The shared middlewares, in the operator's own namespace.

They are written before any route names them, repaired when somebody changes them, and a model's chain
goes only when no Ingress names it any more: Traefik answers 404 for a route whose middleware is missing.

What has the name of one of them and is not ours is taken over, and the event on it says so. That is the one
place where we adopt: the namespace is the operator's own and no customer's, the chain goes by names, and a
link of somebody else's making would be a check that checks nothing.
"""

from collections.abc import Iterable, Iterator

import structlog

from privatellm.api.llm_model import LLMModel
from privatellm.errors import ConflictError, InvalidObjectError, NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.events import Announcement, EventRecorder
from privatellm_operator.reconcile.instance.apply import NEVER_A_VERSION
from privatellm_operator.reconcile.owned import OwnedWriter
from privatellm_operator.reconcile.restoring import Repair, repair_of
from privatellm_operator.render import middlewares
from privatellm_operator.render.ingress import ROUTER, middleware_reference
from privatellm_operator.settings import Settings

log = structlog.get_logger(__name__)

TAKEN_OVER = Announcement(
    reason="MiddlewareTakenOver",
    note="The operator's routes go by a middleware of this name, so it is now what they need. "
    "Give yours another name or keep it in another namespace.",
    action="Apply",
    warning=True,
)
"""What whoever made a middleware of such a name is told."""

LEFTOVER_SECONDS = 60.0
"""When to look whether a model's old chain can go."""


class MiddlewareReconciler:
    """Keeps the shared middlewares as they should be; its one key stands for all of them."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._owned = OwnedWriter(context)
        self._recorder = EventRecorder(context.client, context.clock, context.settings.pod.name)

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
            needed = repair_of(live, manifest, remembered) if live else None
            if live is None:
                await self._create(manifest)
            elif needed is Repair.APPLY:
                await self._owned.apply(kinds.MIDDLEWARE, manifest, {})
            elif needed is Repair.RESTORE:
                await self._owned.restore(kinds.MIDDLEWARE, live, manifest)

    async def _create(self, manifest: Manifest) -> None:
        guard = {"resourceVersion": NEVER_A_VERSION}
        try:
            await self._owned.apply(kinds.MIDDLEWARE, manifest, guard)
        except ConflictError:
            await self._owned.apply(kinds.MIDDLEWARE, manifest, {})
            await self._tell(manifest)

    async def _tell(self, manifest: Manifest) -> None:
        """Tell that a middleware of somebody else's was taken over."""
        metadata = manifest["metadata"]
        name = (metadata["namespace"], metadata["name"])
        log.warning("a middleware of others had the name of ours", object="/".join(name))
        taken = self._context.world[kinds.MIDDLEWARE].get(*name)
        if taken is not None:
            regarding = manifest | {"metadata": taken["metadata"]}
            await self._recorder.record(regarding, TAKEN_OVER)

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
