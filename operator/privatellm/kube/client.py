"""A small asynchronous Kubernetes client that speaks in plain dictionaries.

It exists because typed models double the memory of a controller and cost most of its time. Loading
of credentials is left to ``kubernetes.aio``; requests go through one aiohttp session. Reads of an
absent object return ``None``; every other failure becomes one of :mod:`privatellm.errors`. The client
does not retry: the caller's work queue knows better when to come back.
"""

from collections.abc import AsyncIterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from privatellm import errors
from privatellm.foreign import parse_json
from privatellm.kube import failures
from privatellm.kube.credentials import Credentials, load_credentials
from privatellm.kube.encoding import encoded
from privatellm.kube.kinds import Kind
from privatellm.kube.server_clock import ServerClock

Manifest = dict[str, Any]
"""A Kubernetes object as the API server sends it."""

USER_AGENT = "private-llm"
"""What the API server's audit log and managed fields call us where a write names no field manager."""

REQUEST_TIMEOUT_SECONDS = 30.0
"""How long an ordinary request may take before the API server counts as gone."""

CONNECT_TIMEOUT_SECONDS = 5.0
"""How long a connection for a watch or a log may take to come about."""

WATCH_TIMEOUT_SECONDS = 300
"""How long the API server keeps one watch open unless the caller asks for less."""

LIST_CHUNK = 500
"""Objects a page of a list: large lists never arrive as one body."""

CONNECTION_LIMIT = 100
"""Connections to the API server; each open watch holds one."""


class PatchType(StrEnum):
    """How a patch body is read (RFC 7386, RFC 6902, strategic merge, server-side apply)."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of one kind at one moment."""

    items: tuple[Manifest, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change seen by a watch: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``."""

    type: str
    object: Manifest


class KubeClient:
    """Talks to one API server with one identity; use as an async context manager."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        connection_limit: int = CONNECTION_LIMIT,
        request_timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        """Open no connection yet.

        Args:
            credentials: Where the API server is and who we are.
            connection_limit: Connections at the same time; 0 for no limit, which a client needs that
                holds a watch in each of many namespaces.
            request_timeout_seconds: How long an ordinary request may take.
        """
        self._credentials = credentials
        self._request_timeout_seconds = request_timeout_seconds
        self._base_url: str | None = None
        self._clock = ServerClock()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=credentials.tls(), limit=connection_limit),
            read_bufsize=2**21,  # A watch event can be a whole object of more than a megabyte.
            headers={"User-Agent": USER_AGENT},
        )

    @classmethod
    async def connect(
        cls,
        kubeconfig: Path | None = None,
        *,
        context: str | None = None,
        connection_limit: int = CONNECTION_LIMIT,
        request_timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> Self:
        """Return a client for ``kubeconfig``, for ``KUBECONFIG``, or for the cluster around this pod."""
        credentials = await load_credentials(kubeconfig, context)
        return cls(
            credentials,
            connection_limit=connection_limit,
            request_timeout_seconds=request_timeout_seconds,
        )

    def at(self, base_url: str) -> Self:
        """Return a client for another base URL that shares this one's connections and identity.

        A kcp is thousands of API servers behind one address; a client for each would hold a TLS context
        and a pool of its own. Closing the new client does nothing: the connections stay ours.

        Args:
            base_url: URL of a server that the same credentials are for.
        """
        view = copy(self)
        view._base_url = base_url.rstrip("/")  # noqa: SLF001 - a copy of ourselves
        return view

    @property
    def server(self) -> str:
        """The API server's base URL."""
        return self._credentials.server if self._base_url is None else self._base_url

    @property
    def namespace(self) -> str:
        """The namespace that the kubeconfig's context names; empty when it names none."""
        return self._credentials.namespace

    @property
    def seconds_ahead(self) -> float | None:
        """By how much our clock is ahead of the API server's, by its last answer (see ``server_clock``)."""
        return self._clock.seconds_ahead

    def time(self) -> float:
        """Return the Unix time by our clock, or by the API server's where ours is wrong."""
        return self._clock.time()

    def now(self) -> datetime:
        """Return the same as an aware time in UTC."""
        return datetime.fromtimestamp(self._clock.time(), UTC)

    async def close(self) -> None:
        """Close every connection; those that were lent by another client stay open."""
        if self._base_url is None:
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        """Return one object, or ``None`` when it does not exist."""
        try:
            return await self.request("GET", kind.path(namespace, name))
        except errors.NotFoundError:
            return None

    async def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        """Return every object of a kind, read in pages; items carry ``apiVersion`` and ``kind``.

        Args:
            kind: What to list.
            namespace: Only there; ``None`` lists all namespaces.
            labels: A label selector.
            fields: A field selector.
        """
        items: list[Manifest] = []
        query = _selectors(labels, fields) | {"limit": str(LIST_CHUNK)}
        while True:
            page = await self.request("GET", kind.path(namespace), query=query)
            items += page["items"]
            metadata = page["metadata"]
            if not metadata.get("continue"):
                break
            query["continue"] = metadata["continue"]
        type_of = {"apiVersion": kind.api_version, "kind": kind.name}
        return Listing(tuple(type_of | item for item in items), metadata["resourceVersion"])

    async def create(self, kind: Kind, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Create an object.

        Raises:
            AlreadyExistsError: when the name is taken.
        """
        namespace = manifest["metadata"].get("namespace")
        query = {"dryRun": "All"} if dry_run else {}
        return await self.request("POST", kind.path(namespace), query=query, body=manifest)

    async def replace(self, kind: Kind, manifest: Manifest, subresource: str = "") -> Manifest:
        """Replace an object; with a ``resourceVersion`` in it the write is optimistic.

        Raises:
            ConflictError: when somebody else wrote since the object was read.
        """
        metadata = manifest["metadata"]
        path = kind.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self.request("PUT", path, body=manifest)

    async def apply(
        self,
        kind: Kind,
        manifest: Manifest,
        *,
        field_manager: str,
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Manifest:
        """Server-side apply: create the object or make the fields we name ours.

        Args:
            kind: The manifest's kind.
            manifest: Only the fields that we want to own.
            field_manager: The name our ownership is recorded under.
            force: Take fields over from other managers.
            subresource: ``status`` to apply a status.
            dry_run: Let the server validate and default without storing.
        """
        metadata = manifest["metadata"]
        query = {"fieldManager": field_manager, "force": str(force).lower()}
        query |= {"dryRun": "All"} if dry_run else {}
        path = kind.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self.request(
            "PATCH", path, query=query, body=manifest, content=PatchType.APPLY
        )

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
    ) -> Manifest:
        """Patch an object; put ``metadata.uid`` or ``resourceVersion`` into it to guard the write."""
        path = kind.path(namespace, name, subresource)
        query = {"fieldManager": field_manager} if field_manager else {}
        return await self.request("PATCH", path, query=query, body=body, content=patch_type)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
        propagation: str | None = None,
    ) -> bool:
        """Delete an object and say whether there was one.

        Args:
            kind: What to delete.
            name: Its name.
            namespace: Its namespace.
            uid: Delete only the object with this UID.
            grace_period_seconds: Overrides the pod's own grace period, in seconds.
            propagation: ``Foreground``, ``Background`` or ``Orphan``.

        Raises:
            ConflictError: when an object of that name has another UID.
        """
        options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if propagation is not None:
            options["propagationPolicy"] = propagation
        try:
            await self.request("DELETE", kind.path(namespace, name), body=options)
        except errors.NotFoundError:
            return False
        return True

    async def watch(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout_seconds: int = WATCH_TIMEOUT_SECONDS,
    ) -> AsyncIterator[WatchEvent]:
        """Yield changes after ``resource_version`` until the server ends the watch in its own time.

        A connection that has gone silent for five seconds longer than the server may keep it open
        counts as broken, so that a half-open connection is noticed.

        Raises:
            ExpiredError: when the version is too old; list again.
            UnavailableError: when the connection breaks or stays silent.
        """
        query = _selectors(labels, fields) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=timeout_seconds + 5
        )
        with failures.translated(f"watch {kind.plural}", timeout_seconds + 5):
            async with self._session.get(
                self.server + kind.path(namespace),
                params=query,
                headers=await self._credentials.headers(),
                timeout=timeout,
            ) as response:
                await self._examine(response, "GET", kind.path(namespace))
                async for line in response.content:
                    yield _event(parse_json(line))

    async def lines(
        self, path: str, *, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the lines of a text answer, such as a pod's log, for as long as the server sends some.

        Raises:
            KubernetesError: or the subclass that fits the answer.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS)
        with failures.translated(f"GET {path}", CONNECT_TIMEOUT_SECONDS):
            async with self._session.get(
                self.server + path,
                params=query,
                headers=await self._credentials.headers(),
                timeout=timeout,
            ) as response:
                await self._examine(response, "GET", path)
                async for line in response.content:
                    yield line

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = "application/json",
    ) -> Manifest:
        """Send one request and return the decoded answer.

        Raises:
            KubernetesError: or the subclass that fits the answer.
        """
        headers = {"Content-Type": content} | await self._credentials.headers()
        with failures.translated(f"{method} {path}", self._request_timeout_seconds):
            async with self._session.request(
                method,
                self.server + path,
                params=query,
                headers=headers,
                data=None if body is None else encoded(body),
                timeout=aiohttp.ClientTimeout(total=self._request_timeout_seconds),
            ) as response:
                await self._examine(response, method, path)
                answer: Manifest = await response.json(content_type=None, loads=parse_json)
                return answer

    async def _examine(self, response: aiohttp.ClientResponse, method: str, path: str) -> None:
        """Take note of the server's time, and raise what an error means."""
        self._clock.note(response.headers.get("Date"))
        if response.status < 400:  # noqa: PLR2004 - the first HTTP error status
            return
        if response.status == 401:  # noqa: PLR2004 - the token may have been rotated under us
            await self._credentials.refresh()
        raise failures.of_answer(
            f"{method} {path}", response.status, await response.text(), response.headers
        )


def _selectors(labels: str, fields: str) -> dict[str, str]:
    wanted = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in wanted.items() if value}


def _event(raw: Manifest) -> WatchEvent:
    if raw["type"] == "ERROR":
        status = raw["object"]
        raise failures.of_status("watch", int(status.get("code", 500)), status)
    return WatchEvent(raw["type"], raw["object"])
