"""The double as one object: start it, use its URL, strike it with faults, stop it."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import structlog
from aiohttp import web

from privatellm.errors import AlreadyExistsError, KubernetesError
from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from privatellm_local.kcp.access import Tokens
from privatellm_local.kcp.controllers import bindings, claims, exports, namespaces, workspaces
from privatellm_local.kcp.controllers.context import Context
from privatellm_local.kcp.definitions import control_definitions
from privatellm_local.kcp.faults import Faults
from privatellm_local.kcp.front import Front
from privatellm_local.kcp.kinds import FOLLOWED
from privatellm_local.kcp.registry import Registry
from privatellm_local.kcp.upstream import Upstream

log = structlog.get_logger(__name__)

SWEEPS: tuple[Callable[[Context], Awaitable[None]], ...] = (
    workspaces.sweep,
    exports.sweep,
    bindings.sweep,
    claims.sweep,
    namespaces.sweep,
)
PENDING_SECONDS, ESTABLISH_SECONDS, GOODBYE_SECONDS = 0.15, 0.05, 0.1
LARGEST_BODY = 4 * 2**20


class KcpDouble:
    """Serves kcp's API in front of one API server; use as an async context manager."""

    def __init__(
        self,
        credentials: Credentials,
        tokens: Tokens,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Do nothing yet.

        Args:
            credentials: Of the API server behind it.
            tokens: Who is who.
            host: Address to listen on.
            port: Port; 0 for any.
            tls: The certificate to answer with; absent: HTTP, over which kubectl sends no token.
        """
        self.tokens = tokens
        self._tls = tls
        self.faults = Faults()
        self.registry = Registry()
        self._credentials = credentials
        self._bind = (host, port)
        self._client: KubeClient | None = None
        self._upstream: Upstream | None = None
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        client = self._client = KubeClient(self._credentials)
        await _install(client)
        self._upstream = Upstream(self._credentials, self.faults)
        await self._listen(self._upstream)
        self._tasks = [asyncio.create_task(self.registry.follow(client, kind)) for kind in FOLLOWED]
        context = Context(client, self.registry, self.faults, self.url)
        await self.registry.wait()
        await workspaces.ensure_root(context)
        self._tasks.append(asyncio.create_task(self._control(context)))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._upstream is not None:
            await self._upstream.close()
        if self._client is not None:
            await self._client.close()
        # TLS connections say goodbye in the background, which needs a loop that still runs.
        await asyncio.sleep(GOODBYE_SECONDS)

    async def _listen(self, upstream: Upstream) -> None:
        application = web.Application(client_max_size=LARGEST_BODY)
        front = Front(upstream, self.registry, self.tokens, self.faults)
        application.router.add_route("*", "/{path:.*}", front.handle)
        self._runner = web.AppRunner(
            application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, *self._bind, ssl_context=self._tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{'https' if self._tls else 'http'}://{host}:{port}"

    async def _control(self, context: Context) -> None:
        while True:
            await self._wake(context)
            try:
                for sweep in SWEEPS:
                    await sweep(context)
            except KubernetesError as error:
                # Whatever another writer or a restart got in the way of is swept again.
                log.info("sweep failed", error=str(error))
                context.pending = True

    async def _wake(self, context: Context) -> None:
        timeout = PENDING_SECONDS if context.pending else None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.registry.changed.wait(), timeout)
        await asyncio.sleep(self.faults.claim_delay)
        self.registry.changed.clear()
        context.pending = False


async def _install(client: KubeClient) -> None:
    for definition in control_definitions():
        with contextlib.suppress(AlreadyExistsError):
            await client.create(CUSTOM_RESOURCE_DEFINITION, definition)
    for definition in control_definitions():
        await _established(client, definition["metadata"]["name"])


async def _established(client: KubeClient, name: str) -> None:
    while True:
        found = await client.get(CUSTOM_RESOURCE_DEFINITION, name)
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            return
        await asyncio.sleep(ESTABLISH_SECONDS)
