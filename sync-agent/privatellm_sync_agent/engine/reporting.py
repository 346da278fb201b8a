"""The rung that carries the status up to the customer's object."""

from privatellm.errors import NotFoundError
from privatellm.kube import Manifest
from privatellm_sync_agent.engine import content
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.work import Verdict, Work


async def report_status(work: Work) -> Verdict:
    """Write the status if it differs; a missing status subresource holds nothing else up."""
    if work.local is None or not work.publication.has_status:
        return None
    status = content.status_for_remote(work.publication, work.local, work.remote)
    if status is None or status == work.remote.get("status"):
        return None
    body: Manifest = work.remote | {"status": status}
    try:
        work.remote = await work.workspace.replace(work.publication.remote, body, "status")
    except NotFoundError:
        work.tell(
            Reason.STATUS_SUBRESOURCE_MISSING,
            "The API has no status subresource here, so its status cannot be shown.",
        )
        return None
    work.tell(Reason.STATUS_SYNCED, "The status was updated.")
    return None
