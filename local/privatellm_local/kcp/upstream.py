"""Requests to the API server behind the double, and the streams that come back."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
from aiohttp import web

from privatellm.kube import Manifest
from privatellm.kube.credentials import Credentials
from privatellm_local.kcp import answers
from privatellm_local.kcp.faults import Blow, Faults, Stream

Rewrite = Callable[[Manifest], Manifest]


class Upstream:
    """The API server behind the double, asked with the double's own identity."""

    def __init__(self, credentials: Credentials, faults: Faults) -> None:
        self._credentials = credentials
        self._faults = faults
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=credentials.tls(), limit=0), read_bufsize=2**21
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def ask(
        self, method: str, path: str, query: Mapping[str, str], body: Any, content: str
    ) -> tuple[int, Any]:
        """Send a request and return its status and decoded body; text that is no JSON stays text."""
        async with self._session.request(
            method,
            self._credentials.server + path,
            params=query,
            data=None if body is None else json.dumps(body),
            headers=await self._headers(content),
        ) as response:
            text = await response.text()
            try:
                return response.status, json.loads(text)
            except ValueError:
                return response.status, text

    async def stream(
        self,
        request: web.Request,
        path: str,
        query: Mapping[str, str],
        rewrite: Rewrite,
        plural: str,
    ) -> web.StreamResponse:
        """Carry a watch to the client until either side ends it or a fault hits it."""
        async with self._session.get(
            self._credentials.server + path,
            params=query,
            headers=await self._headers("application/json"),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as source:
            if source.status != 200:  # noqa: PLR2004 - HTTP OK
                refusal = await source.json(content_type=None)
                return web.json_response(refusal, status=source.status)
            response = await _begin(request)
            try:
                await self._carry(request, response, source.content, rewrite, plural)
            finally:
                _abandon(source)
            return response

    async def silence(self, request: web.Request, plural: str) -> web.StreamResponse:
        """Hold a watch open on which nothing ever comes."""
        response = await _begin(request)
        await self._carry(request, response, None, lambda manifest: manifest, plural)
        return response

    async def _carry(
        self,
        request: web.Request,
        response: web.StreamResponse,
        source: aiohttp.StreamReader | None,
        rewrite: Rewrite,
        plural: str,
    ) -> None:
        stream = Stream(request.path, plural, asyncio.get_running_loop().create_future())
        self._faults.streams.add(stream)
        try:
            await _forward(response, source, rewrite, stream)
            if stream.blow.done():
                await _hit(request, response, stream.blow.result())
        finally:
            self._faults.streams.discard(stream)

    async def _headers(self, content: str) -> dict[str, str]:
        return {"Content-Type": content, "Accept": "application/json"} | (
            await self._credentials.headers()
        )


def _abandon(source: aiohttp.ClientResponse) -> None:
    """End a watch whose connection serves nothing else, without waiting for a TLS goodbye."""
    transport = source.connection.transport if source.connection is not None else None
    if transport is not None:
        transport.abort()


async def _begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


async def _forward(
    response: web.StreamResponse,
    source: aiohttp.StreamReader | None,
    rewrite: Rewrite,
    stream: Stream,
) -> None:
    if source is None:
        await stream.blow
        return
    while not stream.blow.done():
        reading = asyncio.ensure_future(source.readline())
        awaited: set[asyncio.Future[Any]] = {reading, stream.blow}
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not reading.done():
                reading.cancel()
        if stream.blow.done():
            return
        line = reading.result()
        if not line:
            return
        event = json.loads(line)
        event["object"] = rewrite(event["object"])
        await _send(response, event)


async def _hit(request: web.Request, response: web.StreamResponse, blow: Blow) -> None:
    match blow:
        case Blow.CUT:
            if request.transport is not None:
                request.transport.abort()
        case Blow.EXPIRED:
            await _error(response, 410, "too old resource version")
        case Blow.ERROR:
            message = "unable to decode an event from the watch stream: context canceled"
            await _error(response, 500, message)
        case Blow.FREEZE:
            await asyncio.Event().wait()  # Until the client gives up.
        case Blow.END:
            pass


async def _error(response: web.StreamResponse, code: int, message: str) -> None:
    await _send(response, {"type": "ERROR", "object": answers.status(code, message)})


async def _send(response: web.StreamResponse, event: Manifest) -> None:
    await response.write(json.dumps(event).encode() + b"\n")
