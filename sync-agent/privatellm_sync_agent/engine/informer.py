"""Keep a store up to date: list, then watch, and go on from where it broke.

A broken connection resumes at the last version seen. An expired version and an error of the server lead to
a new list, as do a few minutes without either; its difference to the store is told like events. While the
server cannot be asked, the store stays as it is: what cannot be seen may well be there. A list without a
resource version, kcp's answer for an API that is not served yet, counts as no answer.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import aclosing

import structlog

from privatellm.errors import (
    ExpiredError,
    KubernetesError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
)
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine.store import Store

log = structlog.get_logger(__name__)

OnChange = Callable[[Manifest | None, Manifest | None], None]
"""Told about each change: the object before and after it; both are given on an update."""

PAGE = 500
WATCH_SECONDS = 55
"""How long one watch lasts; a half-open connection is noticed five seconds later."""
RELIST_SECONDS = 600.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
NOT_SERVED, NOT_SERVED_PAUSE = "NotServed", 2.0


class Informer:
    """Follows one kind at one base URL into one store."""

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        store: Store,
        on_change: OnChange,
        *,
        labels: str = "",
        fields: str = "",
    ) -> None:
        self.kind = kind
        self.store = store
        self.synced = asyncio.Event()
        self.last_contact = 0.0
        self.relists = 0
        self._client = client
        self._on_change = on_change
        self._selectors = {"labels": labels, "fields": fields}
        self._failures = 0

    async def run(self) -> None:
        """Follow for ever; whatever can fail is survived with growing, jittered pauses."""
        while True:
            try:
                version = await self._relist()
                await self._follow(version)
            except KubernetesError as error:
                await self._pause(error)

    async def _follow(self, version: str) -> None:
        """Watch from one list to the next."""
        until = time.monotonic() + RELIST_SECONDS * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        while time.monotonic() < until:
            try:
                version = await self._watch(version)
            except UnavailableError as error:
                if error.status:  # The server spoke: what it tore down must be listed again.
                    raise
                await self._pause(error)
            except ExpiredError:
                return

    async def _watch(self, version: str) -> str:
        watch = self._client.watch(
            self.kind, resource_version=version, timeout_seconds=WATCH_SECONDS, **self._selectors
        )
        async with aclosing(watch) as events:  # type: ignore[type-var]
            async for event in events:
                version = event.object["metadata"]["resourceVersion"]
                self._heard()
                if event.type == "DELETED":
                    before = self.store.drop(event.object)
                    self._on_change(before or event.object, None)
                elif event.type != "BOOKMARK":
                    self._on_change(self.store.put(event.object), event.object)
        self._heard()
        return version

    async def _relist(self) -> str:
        items, version = await self._list()
        self.relists += 1
        for gone in self.store.vanished(items):
            self.store.drop(gone)
            self._on_change(gone, None)
        for item in items:
            before = self.store.put(item)
            if before is None or _version(before) != _version(item):
                self._on_change(before, item)
        self._heard()
        self.synced.set()
        return version

    async def _list(self) -> tuple[list[Manifest], str]:
        items: list[Manifest] = []
        wanted = {
            "labelSelector": self._selectors["labels"],
            "fieldSelector": self._selectors["fields"],
        }
        query = {"limit": str(PAGE)} | {name: text for name, text in wanted.items() if text}
        while True:
            page = await self._client.request("GET", self.kind.path(), query=query)
            metadata = page.get("metadata") or {}
            if "resourceVersion" not in metadata:
                raise UnavailableError(
                    f"The list of {self.kind.plural} has no resource version: it is not served yet.",
                    reason=NOT_SERVED,
                )
            items += page.get("items") or []
            if not metadata.get("continue"):
                typed = {"apiVersion": self.kind.api_version, "kind": self.kind.name}
                return [typed | item for item in items], str(metadata["resourceVersion"])
            query["continue"] = metadata["continue"]

    def _heard(self) -> None:
        self._failures = 0
        self.last_contact = time.monotonic()

    async def _pause(self, error: KubernetesError) -> None:
        self._failures += 1
        longest = min(FIRST_PAUSE * 2 ** min(self._failures - 1, 16), LONGEST_PAUSE)
        seconds = longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter against herds
        if error.reason == NOT_SERVED or isinstance(error, NotFoundError):
            seconds = min(seconds, NOT_SERVED_PAUSE)  # The first binding makes it appear.
        if isinstance(error, ThrottledError):
            seconds = max(seconds, error.retry_after)
        log.info(
            "cannot follow", plural=self.kind.plural, server=self._client.server, error=str(error)
        )
        await asyncio.sleep(seconds)


def _version(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("resourceVersion", ""))
