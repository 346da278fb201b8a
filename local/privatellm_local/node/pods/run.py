"""One run of a container: its process, and the probes that ask it."""

import asyncio

from privatellm_local.node.pod import Container
from privatellm_local.node.probes import Listener, Prober
from privatellm_local.node.process import ContainerProcess, ExitStatus


class ContainerRun:
    """A process and its probes; the probes end when the process is told to, at the latest."""

    def __init__(self, container: Container, process: ContainerProcess) -> None:
        self._container = container
        self._process = process
        self._probing: asyncio.Task[None] | None = None

    async def attend(self, prober: Prober, address: str, listener: Listener) -> ExitStatus:
        """Ask the probes until the process has ended; when cancelled, the process ends at once."""
        self._probing = asyncio.create_task(prober.attend(self._container, address, listener))
        try:
            return await self._process.wait()
        finally:
            self._probing.cancel()
            self._process.kill()

    async def stop(self, grace_seconds: float) -> None:
        """End the process within the grace period; the pause of a ``preStop`` hook is part of it."""
        if self._probing:
            self._probing.cancel()
        pause = min(self._container.pause_before_stop, grace_seconds)
        await asyncio.sleep(pause)
        await self._process.stop(grace_seconds - pause)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
