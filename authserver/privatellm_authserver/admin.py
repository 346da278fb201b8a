"""The admin port: probes, metrics and last use, for the platform and never for the edge.

``/healthz`` says that the supervisor answers; it does not look at the API server, because restarting a pod
cannot bring that back. ``/readyz`` says yes only when every worker is synced and fresh. ``/metrics`` shows
all workers together. ``/last-used`` gives key ids with the times of their last use and of their end here;
the operator polls it, writes status, and measures how fast ended keys are refused.
"""

from datetime import datetime
from typing import Annotated, Final

import fastapi
from fastapi import Query, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from privatellm_authserver import clocks
from privatellm_authserver.clocks import Uptime
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import FleetCollector

_NOT_READY: Final = 503


def create_admin_app(
    fleet: Fleet, max_staleness: float, uptime: Uptime = clocks.uptime
) -> fastapi.FastAPI:
    """Return the admin application.

    Args:
        fleet: The workers to tell about.
        max_staleness: Seconds for which an index may be used after its last confirmation.
        uptime: The clock of staleness.
    """
    app = fastapi.FastAPI(title="Private LLM authserver", docs_url=None, redoc_url=None)
    registry = CollectorRegistry()
    registry.register(FleetCollector(fleet, uptime))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)

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
    ) -> dict[str, dict[str, datetime]]:
        """Return when each key was last used, or ended here; of the last hour, or since a time."""
        return {
            "lastUsed": fleet.last_use.since(since),
            "refusedSince": fleet.refused_since.settled(since),
        }

    return app
