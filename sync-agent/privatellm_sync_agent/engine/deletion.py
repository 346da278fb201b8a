"""The rung that ends an object: related copies first, then the copy, then our finalizer.

It runs for a ``deletionTimestamp`` and for nothing else, and reads both sides live before it removes
anything.
"""

from privatellm.kube import Manifest
from privatellm_sync_agent.engine import copies, finalizers
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.work import Done, Verdict, Work
from privatellm_sync_agent.published.deletion import propagation_of

ALL_GONE = "Everything the provider made for this object is gone."
SOME_LEFT = (
    "What the provider made for this object is gone, but for its copies in this workspace: the claim on "
    "them was taken back. They have no use any more; delete them."
)
LOOK_AGAIN_SECONDS = 10.0
"""The copy's disappearance is an event; this covers one that was missed."""


async def finish_deletion(work: Work) -> Verdict:
    """Remove everything that was made for an object the customer deleted, then let it go."""
    if not work.is_deleting:
        return None
    if not finalizers.held_by_us(work):
        return Done()
    if work.publication.waits_for_others and finalizers.held_by_others(work):
        # Meanwhile the copy is kept up to date, but it is not made anew.
        return Done() if work.local is None else None
    live = await _live_remote(work)
    if live is None:
        return Done()
    work.remote = live
    # Inherited copies are known by their missing mark, so ask before they are gone.
    legacy = finalizers.inherited(work.local)
    are_gone = await copies.release_all(work)
    if await _delete_copies(work):
        return Done(LOOK_AGAIN_SECONDS)
    work.tell(Reason.DELETED, ALL_GONE if are_gone else SOME_LEFT)
    kind, agent = work.publication.remote, work.publication.agent
    await finalizers.release(work.workspace, kind, live, agent, legacy=legacy)
    return Done()


async def _live_remote(work: Work) -> Manifest | None:
    """Return the object if it is still the one that is being deleted."""
    identity, known = work.identity, work.remote["metadata"]
    live = await work.workspace.get(
        work.publication.remote, identity.name, identity.namespace or None
    )
    if live is None or live["metadata"]["uid"] != known["uid"]:
        return None
    return live if "deletionTimestamp" in live["metadata"] else None


async def _delete_copies(work: Work) -> bool:
    """Delete the live copies of this object and say whether one is still there."""
    left = False
    for copy in await live_copies(work):
        metadata = copy["metadata"]
        name, namespace, uid = metadata["name"], metadata.get("namespace"), metadata["uid"]
        kind = work.publication.local
        if "deletionTimestamp" not in metadata:
            work.tell(Reason.CLEANUP, "The provider is removing what it made for this object.")
            await work.service.delete(
                kind, name, namespace, uid=uid, propagation=propagation_of(work.remote)
            )
        left = left or await work.service.get(kind, name, namespace) is not None
    return left


async def live_copies(work: Work) -> tuple[Manifest, ...]:
    """Return the copies of this object as the API server has them now, whatever they are called."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(work.owner.labels().items()))
    listing = await work.service.list(work.publication.local, labels=labels)
    return tuple(copy for copy in listing.items if work.owner.owns(copy))
