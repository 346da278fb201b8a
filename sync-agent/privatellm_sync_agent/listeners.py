"""Probes and metrics over HTTP.

``/healthz`` says that the process answers. ``/readyz`` says that it does its work or stands by to do it: it
is 503 while something that is followed was never seen, and when objects wait for longer than they should.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

from privatellm.kube.lease import Lease
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.flags import Address

OLDEST_SECONDS = 120.0
"""A key that has waited this long means that the workers are stuck."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Readiness:
    """What the process is doing, for its probes."""

    def __init__(self, agent: Agent, lease: Lease | None) -> None:
        """Start with nothing.

        Args:
            agent: Does the work.
            lease: Who has it leads; ``None`` when there is only one process.
        """
        self._agent = agent
        self._lease = lease
        self.state = "starting"

    @property
    def is_leading(self) -> bool:
        """Whether the process does the work, and nobody else can be doing it."""
        return self.state == "leading" and (self._lease is None or self._lease.is_certain())

    def report(self) -> tuple[bool, dict[str, object]]:
        """Return whether the process is ready, and why."""
        oldest = max((one.queue.oldest for one in self._agent.manager.synchronizers), default=0.0)
        facts: dict[str, object] = {
            "state": self.state,
            "synced": self._agent.is_ready,
            "endpoints": len(self._agent.manager.urls),
            "oldestSeconds": round(oldest, 1),
        }
        ready = self.state == "standby" or (
            self.is_leading and self._agent.is_ready and oldest < OLDEST_SECONDS
        )
        return ready, facts


@asynccontextmanager
async def probes(address: Address | None, readiness: Readiness) -> AsyncIterator[None]:
    """Serve ``/healthz`` and ``/readyz`` at an address, if there is one."""

    async def ready(_request: web.Request) -> web.Response:
        is_ready, facts = readiness.report()
        return web.json_response(facts, status=200 if is_ready else 503)

    async with _serving(address, {"/healthz": _alive, "/readyz": ready}):
        yield


@asynccontextmanager
async def metrics(address: Address | None, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Serve ``/metrics`` at an address, if there is one."""

    async def answer(_request: web.Request) -> web.Response:
        body = generate_latest(registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async with _serving(address, {"/metrics": answer}):
        yield


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


@asynccontextmanager
async def _serving(
    address: Address | None, routes: dict[str, Callable[[web.Request], object]]
) -> AsyncIterator[None]:
    if address is None:
        yield
        return
    application = web.Application()
    for path, handler in routes.items():
        application.router.add_get(path, handler)  # type: ignore[arg-type]
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host or None, address.port).start()
        yield
    finally:
        await runner.cleanup()
