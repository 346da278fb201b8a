"""Follows the Services and keeps their listeners; ports that are taken are tried again."""

import asyncio
import logging

from pydantic import ValidationError

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import SERVICE
from privatellm_local.node.reflector import Selection, reflect
from privatellm_local.node.services.listeners import Listeners
from privatellm_local.node.services.service import Domain, Listen, Target, targets

_log = logging.getLogger(__name__)


class ServiceManager:
    """Serves every Service of its domain."""

    def __init__(
        self, client: KubeClient, domain: Domain, listeners: Listeners, retry_seconds: float
    ) -> None:
        self._client = client
        self._domain = domain
        self._listeners = listeners
        self._retry_seconds = retry_seconds
        self._targets: dict[str, dict[Listen, Target]] = {}
        self._due = asyncio.Event()

    async def run(self) -> None:
        """Follow the Services until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_listening())
                group.create_task(
                    reflect(self._client, Selection(SERVICE), self, self._retry_seconds)
                )
        finally:
            await self._listeners.close()

    def replace(self, items: tuple[Manifest, ...]) -> None:
        """Take over the list of all Services."""
        self._targets = {}
        for item in items:
            self.changed(item)
        self._due.set()

    def changed(self, item: Manifest) -> None:
        """Take over a Service."""
        try:
            self._targets[item["metadata"]["uid"]] = targets(item, self._domain)
        except ValidationError as error:
            _log.error("Service %s cannot be served: %s", item["metadata"]["name"], error)
        self._due.set()

    def deleted(self, item: Manifest) -> None:
        """Forget a Service."""
        self._targets.pop(item["metadata"]["uid"], None)
        self._due.set()

    async def _keep_listening(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            wanted = {k: v for targets in self._targets.values() for k, v in targets.items()}
            if not await self._listeners.adjust(wanted):
                await asyncio.sleep(self._retry_seconds)
                self._due.set()
