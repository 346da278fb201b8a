"""One run of a container: its process, and the probes that ask it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial

from privatellm_local.node.pod import Container, HTTPGetAction
from privatellm_local.node.probes import Listener, Prober
from privatellm_local.node.process import ContainerProcess, ExitStatus

_log = logging.getLogger(__name__)


class ContainerRun:
    """A process and its probes; the probes end when the process is told to, at the latest."""

    def __init__(self, container: Container, process: ContainerProcess) -> None:
        self._container = container
        self._process = process
        self._probing: asyncio.Task[None] | None = None
        self._ask: Callable[[HTTPGetAction, float], Awaitable[str]] | None = None

    async def attend(self, prober: Prober, address: str, listener: Listener) -> ExitStatus:
        """Ask the probes until the process has ended; when cancelled, the process ends at once."""
        self._ask = partial(prober.call, self._container, address)
        self._probing = asyncio.create_task(prober.attend(self._container, address, listener))
        try:
            return await self._process.wait()
        finally:
            self._probing.cancel()
            self._process.kill()

    async def stop(self, grace_seconds: float) -> None:
        """End the process within the grace period; a ``preStop`` hook is part of it."""
        if self._probing:
            self._probing.cancel()
        began = time.monotonic()
        await self._prepare(grace_seconds)
        await self._process.stop(max(0.0, grace_seconds - (time.monotonic() - began)))

    async def _prepare(self, seconds: float) -> None:
        """Do what the ``preStop`` hook asks for; a hook that fails stops nothing, as with a kubelet."""
        await asyncio.sleep(min(self._container.pause_before_stop, seconds))
        call = self._container.call_before_stop
        if call and self._ask:
            complaint = await self._ask(call, seconds)
            if complaint:
                _log.warning(
                    "the preStop hook of container %s failed: %s", self._container.name, complaint
                )

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
