"""The rung that carries the status up to the customer's object, and how a status is written anywhere."""

from typing import Any

from privatellm.errors import NotFoundError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine import content
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.work import Verdict, Work


async def report_status(work: Work) -> Verdict:
    """Write the status if it differs; a missing status subresource holds nothing else up."""
    if work.local is None or not work.publication.has_status:
        return None
    rules = work.publication.spec.mutation.status
    status = content.status_of(work.local, rules, work.remote)
    kind = work.publication.remote
    written = await write_status(work, work.workspace, kind, work.remote, status)
    if written is not None:
        work.remote = written
        work.tell(Reason.STATUS_SYNCED, "The status was updated.")
    return None


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
