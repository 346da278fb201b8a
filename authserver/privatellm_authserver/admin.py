"""The admin port: probes, metrics and last use, for the platform and never for the edge.

``/healthz`` says that the supervisor answers; it does not look at the API server, because restarting a pod
cannot bring that back. ``/readyz`` says yes only when every worker is synced and fresh. ``/metrics`` shows
all workers together. ``/last-used`` gives key ids with the times of their last use and of their end here,
and how often they were used; the operator polls it, writes status, shows the counts by the objects they
belong to, and measures how fast ended keys are refused. An operator that begins to lead asks for the counts
of all keys, and begins to count from there.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import fastapi
from fastapi import Query, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from typing_extensions import TypedDict

from privatellm.telemetry.exposition import process_registry, show_spans
from privatellm.telemetry.families import authserver as families
from privatellm.telemetry.tracing import CountingSink
from privatellm_authserver import clocks
from privatellm_authserver.clocks import Uptime
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import FleetCollector

_NOT_READY: Final = 503


class KeyReport(TypedDict):
    """What the operator is told about keys, by key id.

    Attributes:
        lastUsed: When each key was last used.
        uses: How often each of these, or each key at all, was used since counting began.
        allUses: Whether it is each key at all.
        countingSince: When that was.
        refusedSince: Since when each ended key is refused.
    """

    lastUsed: dict[str, datetime]
    uses: dict[str, int]
    allUses: bool
    countingSince: datetime
    refusedSince: dict[str, datetime]


def create_admin_app(
    fleet: Fleet,
    max_staleness: float,
    uptime: Uptime = clocks.uptime,
    spans: CountingSink | None = None,
) -> fastapi.FastAPI:
    """Return the admin application.

    Args:
        fleet: The workers to tell about.
        max_staleness: Seconds for which an index may be used after its last confirmation.
        uptime: The clock of staleness.
        spans: Where traces go; ``None`` when nobody wants them.
    """
    app = fastapi.FastAPI(title="Private LLM authserver", docs_url=None, redoc_url=None)
    registry = process_registry()
    registry.register(FleetCollector(fleet, uptime))
    show_spans(registry, families.SPANS, spans)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the supervisor answers."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> Response:
        """Say whether every worker may be asked, and if not, why."""
        reasons = fleet.why_not_ready(max_staleness)
        status = _NOT_READY if reasons else 200
        return JSONResponse({"ready": not reasons, "reasons": reasons}, status_code=status)

    @app.get("/metrics")
    async def metrics() -> Response:
        """Return all workers' metrics in Prometheus' text format."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/last-used")
    async def last_used(
        since: Annotated[datetime | None, Query()] = None,
        uses: Annotated[Literal["recent", "all"], Query()] = "recent",
    ) -> KeyReport:
        """Return when each key was last used, or ended here; of the last hour, or since a time."""
        last_used = fleet.last_use.since(since)
        all_uses = uses == "all"
        return {
            "lastUsed": last_used,
            "uses": fleet.uses.all() if all_uses else fleet.uses.of(last_used),
            "allUses": all_uses,
            "countingSince": fleet.uses.counting_since,
            "refusedSince": fleet.refused_since.settled(since),
        }

    return app
