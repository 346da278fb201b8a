"""The rungs that make the copy exist and keep its content up to date."""

import structlog

from privatellm.errors import AlreadyExistsError, NotFoundError
from privatellm.kube import Manifest
from privatellm_sync_agent.engine import content as contents
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.obstacles import Obstacle
from privatellm_sync_agent.engine.onboarding import open_namespace
from privatellm_sync_agent.engine.reporting import report_obstacles
from privatellm_sync_agent.engine.work import Done, Verdict, Work

log = structlog.get_logger(__name__)


async def ensure_copy(work: Work) -> Verdict:
    """Create the copy where the provider's rule puts it; an object that is not ours stays untouched."""
    if work.local is not None:
        return None
    kind = work.publication.local
    place = work.publication.spec.naming.rule.local_name(
        work.remote, work.cluster_path, namespaced=kind.namespaced
    )
    wanted = contents.content_for_copy(work.publication, work.remote, None)
    body = contents.new_copy(wanted, work.owner.labels(), work.owner.annotations())
    body |= {"apiVersion": kind.api_version, "kind": kind.name}
    body["metadata"] |= {"name": place.name} | (
        {"namespace": place.namespace} if kind.namespaced else {}
    )
    try:
        work.local = await _create(work, body)
    except AlreadyExistsError:
        return await _taken(work, body)
    work.world.placed[work.identity] = work.local
    work.tell(Reason.PLACED, "The object was handed to the provider.")
    return None


async def skip_dying_copy(work: Work) -> Verdict:
    """Leave a copy alone that somebody is deleting; when it is gone it is made again."""
    dying = work.local is not None and "deletionTimestamp" in work.local["metadata"]
    return Done() if dying else None


async def update_copy(work: Work) -> Verdict:
    """Carry down what the customer changed, together with the memory of it."""
    local = work.local
    if local is None:
        return Done()
    wanted = contents.content_for_copy(work.publication, work.remote, local)
    patch = contents.update_of(wanted, local, work.owner.labels(), work.owner.annotations())
    if not patch:
        return None
    found = local["metadata"]
    guarded = patch | {"metadata": (patch.get("metadata") or {}) | {"uid": found["uid"]}}
    kind = work.publication.local
    work.local = await work.service.patch(kind, found["name"], found.get("namespace"), guarded)
    work.world.copies.refresh(work.local)
    work.tell(Reason.SYNCED, "Changes were handed to the provider.")
    return None


async def _create(work: Work, body: Manifest) -> Manifest:
    kind = work.publication.local
    try:
        return await work.service.create(kind, body)
    except NotFoundError:
        # Asking for the namespace only now spares a request for every object but the first.
        namespace = body["metadata"].get("namespace")
        if not namespace:
            raise
        await open_namespace(work, namespace)
    return await work.service.create(kind, body)


async def _taken(work: Work, body: Manifest) -> Verdict:
    """Go on with a copy of our own that the store has not seen yet; refuse any other object."""
    place = body["metadata"]
    live = await work.service.get(work.publication.local, place["name"], place.get("namespace"))
    if live is not None and work.owner.owns(live):
        work.local = work.world.placed[work.identity] = live
        return None
    log.warning("name taken", object=str(work.identity), name=place["name"])
    work.meet(
        Obstacle(
            Reason.NAME_TAKEN,
            "The name that the provider's rule gives this object is taken by another one, which is left "
            "untouched. Use another name, or ask the provider.",
        )
    )
    return await report_obstacles(work)
