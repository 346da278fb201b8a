"""Probes and metrics over HTTP.

``/healthz`` says that the process answers. ``/readyz`` says that it does its work or stands by to do it: it
is 503 while the picture of the cluster is not complete and while the Lease has run out.
"""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from privatellm_operator.metrics import Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

STANDBY: Final = "standby"
LEADING: Final = "leading"


class Readiness:
    """What the process is doing, for its probes and for who asks whether it leads."""

    def __init__(self, is_certain: Callable[[], bool]) -> None:
        """Start with nothing.

        Args:
            is_certain: Whether nobody else can lead by now; asked anew whenever somebody asks us.
        """
        self._is_certain = is_certain
        self._state = "starting"

    @property
    def state(self) -> str:
        """The state in one or two words; whose Lease ran out does not say that it leads."""
        expired = self._state == LEADING and not self._is_certain()
        return "lease expired" if expired else self._state

    @property
    def is_ready(self) -> bool:
        """Whether the process does its work or stands by to do it."""
        return self.state in (STANDBY, LEADING)

    @property
    def is_leading(self) -> bool:
        """Whether the process does the work, and nobody else can be doing it."""
        return self.state == LEADING

    def stand_by(self) -> None:
        """Wait for the Lease, ready to take over."""
        self._state = STANDBY

    def prepare(self) -> None:
        """Have the Lease, but no complete picture yet."""
        self._state = "priming"

    def lead(self) -> None:
        """Do the work."""
        self._state = LEADING


class Listener:
    """The HTTP server of one process."""

    def __init__(self, readiness: Readiness, metrics: Metrics) -> None:
        self._readiness = readiness
        self._metrics = metrics
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._expose)
        self._runner = web.AppRunner(application, access_log=None)

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port.

        Raises:
            OSError: when the address cannot be bound.
        """
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        status = 200 if self._readiness.is_ready else 503
        return web.Response(text=f"{self._readiness.state}\n", status=status)

    async def _expose(self, _request: web.Request) -> web.Response:
        text = await self._metrics.text_in_peace()
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})
