"""The ladder that every object climbs in every pass, whatever happened to it.

A rung does one thing, or finds that there is nothing to do, and says whether the next one is climbed. So a
crash between any two requests leaves a state from which the next pass goes on.
"""

from collections.abc import Awaitable, Callable

import structlog

from privatellm.errors import ForbiddenError, InvalidInputError, KubernetesError, RejectedError
from privatellm_sync_agent.engine import (
    copies,
    deletion,
    finalizers,
    onboarding,
    placing,
    reporting,
)
from privatellm_sync_agent.engine.events import EventRecorder, Reason
from privatellm_sync_agent.engine.publication import Publication
from privatellm_sync_agent.engine.work import Done, Verdict, Work
from privatellm_sync_agent.engine.world import Endpoint, World
from privatellm_sync_agent.naming.names import Identity

log = structlog.get_logger(__name__)

Rung = Callable[[Work], Awaitable[Verdict]]

UNKNOWN_YET_SECONDS = 2.0
"""Until an informer has seen the object's workspace or namespace."""


async def _stop_unselected(work: Work) -> Verdict:
    """Leave an object alone that the filter does not select; its copy stays as it is."""
    chosen = work.publication.spec.filter
    labels = work.remote["metadata"].get("labels")
    if chosen.resource is not None and not chosen.resource.matches(labels):
        return Done()
    if chosen.namespace is None:
        return None
    found = work.world.find(work.identity)
    known = work.world.namespace_labels(found[0], work.identity) if found else None
    return None if known is not None and chosen.namespace.matches(known) else Done()


LADDER: tuple[Rung, ...] = (
    deletion.finish_deletion,  # Before the filter: an object that left it must still be able to go.
    _stop_unselected,
    finalizers.ensure,  # Before anything exists, or its deletion could miss it.
    onboarding.grant_in_namespace,  # Before the copy: whoever sees it must be allowed to serve it.
    placing.ensure_copy,
    placing.skip_dying_copy,
    placing.update_copy,
    reporting.report_status,  # Before related objects: their names are often in the status.
    copies.carry_related,
    reporting.report_obstacles,  # Last: only now is known what was in the way.
)
"""The whole life of an object, in order."""


class Ladder:
    """Makes the world of one object what it should be."""

    def __init__(self, publication: Publication, world: World, recorder: EventRecorder) -> None:
        self._publication = publication
        self._world = world
        self._recorder = recorder

    async def climb(self, identity: Identity) -> float | None:
        """Do one pass and return the seconds after which another is wanted without any event.

        Raises:
            KubernetesError: when a request failed; the pass is tried again later.
            InvalidInputError: when the provider's rules do not fit this object.
        """
        found = self._world.find(identity)
        if found is None:
            return None  # Gone, or out of sight: neither is a reason to delete anything.
        work = self._work(identity, *found)
        if work is None:
            return UNKNOWN_YET_SECONDS
        try:
            return await self._climb(work)
        except (InvalidInputError, RejectedError, ForbiddenError) as error:
            self._tell(work, error)
            raise

    async def _climb(self, work: Work) -> float | None:
        for rung in LADDER:
            verdict = await rung(work)
            if verdict is not None:
                return verdict.again_after
        return None

    def _work(
        self, identity: Identity, endpoint: Endpoint, remote: dict[str, object]
    ) -> Work | None:
        path = ""
        if self._publication.spec.enable_workspace_paths:
            path = self._world.cluster_path(endpoint, identity.cluster)
            if not path:
                return None
        copies_of_it = self._world.copies.indexed(identity)
        if len(copies_of_it) > 1:
            places = ", ".join(str(Identity.of(copy)) for copy in copies_of_it)
            raise InvalidInputError(
                f"An object has one copy; {identity} has {len(copies_of_it)}: {places}. "
                "Delete the wrong one by hand."
            )
        return Work(
            publication=self._publication,
            world=self._world,
            workspace=endpoint.workspace(identity.cluster),
            recorder=self._recorder,
            identity=identity,
            remote=remote,
            local=copies_of_it[0] if copies_of_it else None,
            cluster_path=path,
        )

    def _tell(self, work: Work, error: InvalidInputError | KubernetesError) -> None:
        # What exactly is wrong may name objects of the service cluster, so only the log says it.
        log.warning("object cannot be synced", object=str(work.identity), error=str(error))
        work.tell(
            Reason.FAILED,
            "The provider cannot sync this object as it is. It has been told, and tries again.",
        )
