"""An HTTP server with the list and watch of one namespace's Secrets, whose faults tests choose.

A real kube-apiserver is used where its behaviour is the question (the integration tests). This one stands
in where a fault is: a watch that goes silent, expires, breaks off or ends at once, a list that fails
half-way or takes its time.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

SERVICE_ACCOUNT_TOKEN = "token-of-the-service-account"

Fault = Literal["none", "silent", "gone", "break", "end", "refuse", "hold"]


@dataclass
class ApiServer:
    """Secrets, their history, and a fault.

    Attributes:
        open_watches: How many watches may still be told something.
        held_lists: How many lists wait for the end of the fault ``hold``.
    """

    secrets: dict[str, dict[str, Any]] = field(default_factory=dict)
    fault: Fault = "none"
    lists: int = 0
    watches: int = 0
    open_watches: int = 0
    held_lists: int = 0
    fail_pages: int = 0
    version: int = 100
    url: str = ""
    _history: list[dict[str, Any]] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def change(self, kind: str, secret: dict[str, Any], *, told: bool = True) -> None:
        """Add or delete a Secret; ``told`` says whether watches will hear of it."""
        self.version += 1
        secret["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            self.secrets.pop(secret["metadata"]["name"], None)
        else:
            self.secrets[secret["metadata"]["name"]] = secret
        if told:
            await self._tell(kind, secret)

    async def bookmark(self) -> None:
        """Tell watches how far they are."""
        self.version += 1
        await self._tell("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    async def set_fault(self, fault: Fault) -> None:
        """Change the fault; open watches notice at once."""
        async with self._changed:
            self.fault = fault
            self._changed.notify_all()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        cluster = {"name": "c", "cluster": {"server": self.url}}
        context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
        user = {"name": "u", "user": {"token": SERVICE_ACCOUNT_TOKEN}}
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [cluster],
                    "contexts": [context],
                    "users": [user],
                    "current-context": "c",
                }
            )
        )
        return path

    async def _tell(self, kind: str, manifest: dict[str, Any]) -> None:
        async with self._changed:
            self._history.append({"type": kind, "object": manifest, "version": self.version})
            self._changed.notify_all()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a list or a watch."""
        if self.fault == "refuse":
            return _status(503, "ServiceUnavailable")
        if "watch" in request.query:
            return await self._watch(request)
        if self.fault == "hold":
            await self._held()
        return self._page(request)

    async def _held(self) -> None:
        self.held_lists += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self.fault != "hold")
        finally:
            self.held_lists -= 1

    def _page(self, request: web.Request) -> web.Response:
        start = int(request.query.get("continue", "0"))
        self.lists += not start
        if start and self.fail_pages:
            self.fail_pages -= 1
            return _status(410, "Expired")
        end = start + int(request.query["limit"])
        items = list(self.secrets.values())
        more = {"continue": str(end)} if end < len(items) else {}
        metadata = {"resourceVersion": str(self.version)} | more
        return web.json_response({"metadata": metadata, "items": items[start:end]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        self.watches += 1
        if self.fault == "gone":
            return _status(410, "Expired")
        response = web.StreamResponse()
        response.content_type = "application/json"
        await response.prepare(request)
        version = int(request.query["resourceVersion"])
        self.open_watches += 1
        try:
            async with asyncio.timeout(float(request.query["timeoutSeconds"])):
                await self._stream(response, version)
        except TimeoutError:
            pass
        finally:
            self.open_watches -= 1
        if self.fault == "silent":
            # As if the packets were dropped: the connection stays, nothing arrives, not even its end.
            await asyncio.sleep(3600)
        return response

    async def _stream(self, response: web.StreamResponse, version: int) -> None:
        while self.fault not in ("end", "silent"):
            async with self._changed:
                if self.fault == "break":
                    raise ConnectionResetError
                events = [e for e in self._history if e["version"] > version]
                if not events:
                    await self._changed.wait()
                    continue
            for event in events:
                version = event["version"]
                await response.write(json.dumps(event).encode() + b"\n")


def _status(code: int, reason: str) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": "as the test wanted"}
    return web.json_response(body, status=code)


@asynccontextmanager
async def api_server() -> AsyncIterator[ApiServer]:
    """Run a server on a free loopback port."""
    server = ApiServer()
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/{namespace}/secrets", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
