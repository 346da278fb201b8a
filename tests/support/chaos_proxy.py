"""What stands between the API server and its clients while a fault of the network is played.

A relay of bytes in a thread of its own: TLS passes through unopened, so every client keeps its identity
and its certificate. It can be slow, break every connection, and swallow what is sent as a broken network
does: connections stay open and nothing arrives.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

CHUNK = 65536
LOOPBACK = "127.0.0.1"


class Relay:
    """One listener that passes on to one port; driven from outside of its thread."""

    def __init__(self, port: int, target: int) -> None:
        """Start nothing yet.

        Args:
            port: Where clients connect.
            target: Where the server listens.
        """
        self._port = port
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._delay = 0.0
        self._passing = asyncio.Event()
        self._passing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._refusing = False

    def delay(self, seconds: float) -> None:
        """Hold back whatever is sent, in both directions, for so long."""
        self._do(self._set_delay(seconds))

    def cut(self) -> None:
        """Break every connection that there is."""
        self._do(self._cut())

    def part(self) -> None:
        """Break every connection and accept no other one until :meth:`heal`."""
        self._do(self._part())

    def swallow(self) -> None:
        """Pass nothing on, and tell nobody, until :meth:`heal`."""
        self._do(self._swallow())

    def heal(self) -> None:
        """Pass everything on again, at once; what was swallowed arrives late, as on a real network."""
        self._do(self._heal())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _set_delay(self, seconds: float) -> None:
        self._delay = seconds

    async def _cut(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _part(self) -> None:
        self._refusing = True
        await self._cut()

    async def _swallow(self) -> None:
        self._passing.clear()

    async def _heal(self) -> None:
        self._delay, self._refusing = 0.0, False
        self._passing.set()

    async def _serve(self, started: Callable[[], None]) -> None:
        server = await asyncio.start_server(self._accept, LOOPBACK, self._port, backlog=1024)
        started()
        try:
            await asyncio.Event().wait()
        finally:
            # Its connections are ended by others; whoever waits for them here waits for ever.
            server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection(LOOPBACK, self._target)
        except OSError:
            # The server is gone, and whoever connects to us sees just that.
            writer.transport.abort()
            return
        self._writers |= {writer, other_writer}
        try:
            await asyncio.gather(self._pump(reader, other_writer), self._pump(other_reader, writer))
        finally:
            self._writers -= {writer, other_writer}
            writer.close()
            other_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A connection that ends or breaks on one side ends on the other.
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._passing.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        writer.close()

    @contextmanager
    def running(self) -> Iterator["Relay"]:
        """Relay until the block ends."""
        started = threading.Event()
        thread = threading.Thread(target=self._run, args=(started.set,), name="relay")
        thread.start()
        try:
            assert started.wait(10), f"nobody listens on port {self._port}"
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._end)
            thread.join()

    def _run(self, started: Callable[[], None]) -> None:
        asyncio.set_event_loop(self._loop)
        self._serving = self._loop.create_task(self._serve(started))
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        self._loop.run_until_complete(self._settle())
        self._loop.close()

    async def _settle(self) -> None:
        await self._heal()
        await self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    def _end(self) -> None:
        self._serving.cancel()
