"""The part of a kubelet's HTTPS API that ``kubectl logs`` needs.

Whoever asks must show a client certificate, and a SubjectAccessReview must say that its user may use
``nodes/proxy``, as for a kubelet: the same CA signs the certificates of ordinary users. Logs carry no
timestamps here, so options that need them are refused. ``exec``, ``attach`` and port forwarding do not
exist.
"""

import logging
import ssl
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from privatellm.errors import InvalidInputError, KubernetesError
from privatellm.kube import KubeClient
from privatellm_local.node import logs
from privatellm_local.node.config import NodeConfig
from privatellm_local.node.pods.manager import PodManager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_log = logging.getLogger(__name__)

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
HEALTH_PATH = "/healthz"
_TRUE = {"true", "1"}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What part of a log is wanted."""

    follow: bool = False
    previous: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Self:
        """Read the query of a request.

        Raises:
            InvalidInputError: when an option has no sense, or none here.
        """
        for name in ("timestamps", "sinceTime", "sinceSeconds"):
            if query.get(name, "").lower() not in {"", "false"}:
                raise InvalidInputError(
                    f"The host node's logs carry no timestamps, so {name} cannot be honoured."
                )
        return cls(
            follow=query.get("follow", "").lower() in _TRUE,
            previous=query.get("previous", "").lower() in _TRUE,
            tail_lines=_count(query, "tailLines"),
            limit_bytes=_count(query, "limitBytes"),
        )


class KubeletAPI:
    """Serves the logs of the node's pods."""

    def __init__(self, client: KubeClient, config: NodeConfig, pods: PodManager) -> None:
        self._client = client
        self._config = config
        self._pods = pods

    @asynccontextmanager
    async def serving(self) -> "AsyncIterator[None]":
        """Listen inside the block.

        Raises:
            OSError: when the port is taken or the certificates cannot be read.
        """
        app = web.Application(middlewares=[self._authorise])
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        app.router.add_get(HEALTH_PATH, self._health)
        # A client that no longer follows a log ends the handler that waits for its next line.
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True
        )
        await runner.setup()
        try:
            address, port = str(self._config.kubelet_address), self._config.kubelet_port
            await web.TCPSite(runner, address, port, ssl_context=self._tls()).start()
            yield
        finally:
            await runner.cleanup()

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=str(self._config.client_ca)
        )
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self._config.serving_cert, self._config.serving_key)
        return context

    @web.middleware
    async def _authorise(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path == HEALTH_PATH:
            # Asked by whoever supervises the agent, also while there is no API server to review it.
            return await _handled(request, handler)
        certificate = request.get_extra_info("peercert") or {}
        try:
            allowed = await self._allowed(subject(certificate))
        except KubernetesError as error:
            raise web.HTTPServiceUnavailable(text=f"{error}\n") from error
        if not allowed:
            raise web.HTTPForbidden(text="The user may not use nodes/proxy.\n")
        return await _handled(request, handler)

    async def _allowed(self, user: tuple[str, tuple[str, ...]]) -> bool:
        name, groups = user
        attributes = {
            "verb": "get",
            "resource": "nodes",
            "subresource": "proxy",
            "name": self._config.node_name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": name, "groups": list(groups), "resourceAttributes": attributes},
        }
        answer = await self._client.request("POST", _REVIEWS, body=review)
        return bool(answer["status"].get("allowed"))

    async def _health(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        try:
            options = LogOptions.parse(request.query)
        except InvalidInputError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        return await _send(request, self._source(request.match_info, options), options)

    def _source(self, named: Mapping[str, str], options: LogOptions) -> logs.LogSource:
        """Return the log that is asked for, or say as a kubelet does why there is none."""
        pod, container = named["pod"], named["container"]
        worker = self._pods.find(named["namespace"], pod)
        if worker is None:
            raise web.HTTPNotFound(text="pod does not exist\n")
        source = worker.log_source(container, previous=options.previous)
        if source is not None:
            return source
        why = worker.why_no_log(container, previous=options.previous)
        if why is None:
            raise web.HTTPNotFound(text=f'container "{container}" not found in pod "{pod}"\n')
        raise web.HTTPBadRequest(text=why)


async def _handled(request: web.Request, handler: Any) -> web.StreamResponse:
    response: web.StreamResponse = await handler(request)
    return response


async def _send(
    request: web.Request, source: logs.LogSource, options: LogOptions
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    await response.prepare(request)
    offset = 0 if options.tail_lines is None else logs.tail_offset(source.path, options.tail_lines)
    if not options.follow:
        source = logs.LogSource(source.path, lambda: True)
    left = options.limit_bytes
    async for chunk in logs.follow(source, offset):
        await response.write(chunk if left is None else chunk[:left])
        if left is not None and (left := left - len(chunk)) <= 0:
            break
    await response.write_eof()
    return response


def subject(certificate: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the user and the groups that a client certificate stands for (RFC 4514 CN and O)."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for key, value in pairs if key == "commonName"), "")
    return name, tuple(value for key, value in pairs if key == "organizationName")


def _count(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdigit():
        raise InvalidInputError(f"{name} is a whole number, not negative; got {text!r}.")
    return int(text)
