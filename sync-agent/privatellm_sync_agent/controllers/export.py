"""Keep the APIExport up to date: its resources and the claims that syncing needs."""

from collections.abc import Callable, Iterable

import structlog

from privatellm.kube import Manifest
from privatellm_sync_agent.engine.events import EventRecorder, Reason
from privatellm_sync_agent.kcp.home import Home
from privatellm_sync_agent.projection.exports import API_EXPORT, Published, updated_export

log = structlog.get_logger(__name__)

RETRY_SECONDS = 10.0


class ExportController:
    """Writes the export when something is missing in it, under an optimistic lock."""

    def __init__(
        self,
        home: Home,
        agent: str,
        recorder: EventRecorder,
        published: Callable[[], Iterable[Published]],
    ) -> None:
        self._home = home
        self._agent = agent
        self._recorder = recorder
        self._published = published

    async def reconcile(self, _key: str) -> float | None:
        """Do one pass over the export."""
        home = self._home
        export = await home.exports.get(API_EXPORT, home.export_name)
        if export is None:
            log.warning("the APIExport is gone", name=home.export_name)
            return RETRY_SECONDS
        resources = tuple(self._published())
        if not resources:
            return None
        wanted = updated_export(export, resources, self._agent)
        if wanted == export:
            return None
        await home.exports.replace(API_EXPORT, wanted)
        self._tell(export, wanted)
        return None

    def _tell(self, before: Manifest, after: Manifest) -> None:
        for field, reason in (
            ("resources", Reason.ADDING_SCHEMAS),
            ("permissionClaims", Reason.ADDING_CLAIMS),
        ):
            if (before.get("spec") or {}).get(field) != after["spec"][field]:
                log.info("export updated", field=field)
                message = f"The agent {self._agent} updated {field}."
                self._recorder.tell(self._home.exports, after, reason, message)
