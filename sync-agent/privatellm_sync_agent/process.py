"""One agent process: stand by, lead, and leave without a trace.

A stand-by waits for the Lease and leaves at once when it is asked to. A leader leaves backwards: no new
pass starts, running passes finish and tell what they did, then nothing is followed any more, and the Lease
is released last. Who has lost the Lease finishes nothing, because somebody else writes now.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube.lease import Lease
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.listeners import Readiness

log = structlog.get_logger(__name__)

T = TypeVar("T")

FINISH_SECONDS = 20.0
"""How long running passes may take to finish when the process is asked to stop."""

RELEASE_SECONDS = 3.0
"""How long the release of the Lease may take; after that it runs out by itself."""


class AgentProcess:
    """What one process does from its first look at the Lease to its last."""

    def __init__(
        self,
        agent: Agent,
        lease: Lease | None,
        readiness: Readiness,
        stop: asyncio.Event,
        *,
        finish_seconds: float = FINISH_SECONDS,
    ) -> None:
        """Put the parts together; nothing is started or asked yet.

        Args:
            agent: Does the work.
            lease: Who has it leads; ``None`` when there is only one process.
            readiness: Is told what the process is doing.
            stop: Set when somebody asks the process to stop.
            finish_seconds: How long running passes may take to finish then.
        """
        self._agent = agent
        self._lease = lease
        self._readiness = readiness
        self._stop = stop
        self._finish_seconds = finish_seconds

    async def run(self) -> None:
        """Stand by and lead until asked to stop.

        Raises:
            LeaseLostError: when another process took over.
        """
        if self._lease is None:
            await self._lead()
            return
        self._readiness.state = "standby"
        try:
            await unless_stopped(self._stop, self._lease.acquire())
            if not self._stop.is_set():
                await self._lead(self._lease.hold(self._note_lease))
        finally:
            await _release(self._lease)

    async def _lead(self, *others: Coroutine[Any, Any, None]) -> None:
        """Work until asked to stop, or until one part ends."""
        self._readiness.state = "leading"
        parts = [asyncio.create_task(part) for part in (*others, self._agent.run())]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({*parts, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set():
                await self._finish(parts)
        finally:
            await _end(*parts, stopped)
        for part in parts:
            if not part.cancelled():
                part.result()

    async def _finish(self, parts: Sequence[asyncio.Task[None]]) -> None:
        """Let running passes finish, for a while and while we lead."""
        self._readiness.state = "stopping"
        log.info("stopping", running=self._agent.gate.running)
        finished = asyncio.create_task(self._agent.finish())
        await asyncio.wait(
            {finished, *parts},
            timeout=self._finish_seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
        await _end(finished)
        if self._agent.gate.running:
            # The next leader looks at every object anew and does what is missing.
            log.warning("passes cut off", running=self._agent.gate.running)
        else:
            log.info("passes finished")

    def _note_lease(self, certain: bool) -> None:  # noqa: FBT001 - the signature of a callback
        """Pause while it is not certain that we lead."""
        if certain:
            self._agent.gate.resume()
        else:
            self._agent.gate.pause()
        if not self._stop.is_set():
            self._readiness.state = "leading" if certain else "lease expired"


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Do the work and return what comes of it; drop it and return ``None`` when asked to stop meanwhile."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        await _end(task, stopped)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _release(lease: Lease) -> None:
    try:
        async with asyncio.timeout(RELEASE_SECONDS):
            await lease.release()
    except (KubernetesError, TimeoutError) as error:
        log.info("lease not released, it will run out", error=str(error) or "no answer")
