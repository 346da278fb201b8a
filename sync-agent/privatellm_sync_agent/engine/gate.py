"""Where every pass begins: the gate may be closed for a while, or for good.

All queues of an agent share one. So a process that may not write starts nothing anywhere, and one that is
about to leave knows when the last running pass has ended. The gate ends no pass by itself: who cannot wait
any longer cancels it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Lets passes start, and counts those that run."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._is_finishing = False
        self._running = 0

    @property
    def running(self) -> int:
        """How many passes have begun and not ended."""
        return self._running

    def pause(self) -> None:
        """Start no more passes until :meth:`resume`; those that run go on."""
        self._open.clear()

    def resume(self) -> None:
        """Start passes again, unless they are to finish."""
        if not self._is_finishing:
            self._open.set()

    async def finish(self) -> None:
        """Start no pass ever again, and return when every running one has ended."""
        self._is_finishing = True
        self._open.clear()
        await self._at_rest.wait()

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """Wait until a pass may start; it runs until the block ends."""
        # Whoever was woken by a gate that closed again in the same moment waits on.
        while not self._open.is_set():
            await self._open.wait()
        self._running += 1
        self._at_rest.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._at_rest.set()
