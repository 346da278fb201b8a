"""The rungs that carry the status up to the customer's object, and how a status is written anywhere."""

from typing import Any

from privatellm.errors import NotFoundError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine import content, obstacles
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.work import Done, Verdict, Work


async def report_status(work: Work) -> Verdict:
    """Write the status if it differs; a missing status subresource holds nothing else up."""
    if work.local is None or not work.publication.has_status:
        return None
    rules = work.publication.spec.mutation.status
    status = content.status_of(work.local, rules, work.remote)
    if status is not None and work.publication.has_conditions:
        # What was in the way is looked at by a later rung; until then its word stands.
        status = obstacles.kept(status, work.remote.get("status") or {})
    if await _write_to_customer(work, status):
        work.tell(Reason.STATUS_SYNCED, "The status was updated.")
    return None


async def report_obstacles(work: Work) -> Verdict:
    """End the pass: say on the object what is in the way, or take back that something was."""
    if work.publication.has_conditions:
        stored = work.remote.get("status") or {}
        generation = int(work.remote["metadata"].get("generation", 0))
        now = work.recorder.now()
        wanted = obstacles.with_obstacles(stored, work.obstacles, generation, now)
        await _write_to_customer(work, wanted)
    return Done(work.again_after)


async def _write_to_customer(work: Work, status: Any) -> bool:
    kind = work.publication.remote
    written = await write_status(work, work.workspace, kind, work.remote, status)
    work.remote = written or work.remote
    return written is not None


async def write_status(
    work: Work, client: KubeClient, kind: Kind, target: Manifest, status: Any
) -> Manifest | None:
    """Give an object a status, and return it when that changed something.

    Args:
        work: The pass; its object is told when there is no status subresource.
        client: Client for where the object is.
        kind: Its kind there.
        target: The object as it was read; the write fails when it changed since.
        status: What to write; ``None`` writes nothing.
    """
    if status is None or status == target.get("status"):
        return None
    try:
        return await client.replace(kind, target | {"status": status}, "status")
    except NotFoundError:
        work.tell(
            Reason.STATUS_SUBRESOURCE_MISSING,
            "The API has no status subresource here, so its status cannot be shown.",
        )
        return None
