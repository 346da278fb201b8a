"""One listener for each port of each Service, and the sessions behind them."""

import asyncio
import errno
import logging
from collections.abc import Iterator, Mapping
from itertools import count
from weakref import WeakSet

from privatellm_local.holders import holder_of
from privatellm_local.node.registry import PodRegistry
from privatellm_local.node.services import proxy
from privatellm_local.node.services.proxy import ClientPipe, Pipe
from privatellm_local.node.services.service import Backend, Listen, Target, backends

_log = logging.getLogger(__name__)

LINGER_SECONDS = 30.0
"""How long a session may outlive its pod. The pod's end has reached the client by itself; this is for
clients that keep their half open for ever."""

_BACKLOG = 1024


class Balancer:
    """Chooses a ready pod for each connection, in turn."""

    def __init__(self, target: Target, registry: PodRegistry) -> None:
        self.target = target
        self._registry = registry
        self._turn = count()
        self._backends: tuple[Backend, ...] = ()
        self._version = -1

    def candidates(self) -> Iterator[Backend]:
        """Yield every ready pod once, beginning with the one whose turn it is."""
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._backends = backends(self.target, self._registry.pods)
        ready, start = self._backends, next(self._turn)
        return (ready[(start + offset) % len(ready)] for offset in range(len(ready)))


class Sessions:
    """Every open session by the pod that serves it."""

    def __init__(self) -> None:
        self._by_pod: dict[str, set[Pipe]] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._transports: WeakSet[asyncio.Transport] = WeakSet()

    def open(self, client: ClientPipe, balancer: Balancer) -> None:
        """Begin to look for a pod for a client."""
        self._remember(client)
        task = asyncio.create_task(self._open(client, balancer))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def end(self, pod_uid: str) -> None:
        """Close the sessions of a pod that is gone, once the client had time to read what it sent."""
        loop = asyncio.get_running_loop()
        for pipe in self._by_pod.pop(pod_uid, set()):
            loop.call_later(LINGER_SECONDS, pipe.close)

    async def close(self) -> None:
        """Break every session off."""
        for task in self._opening:
            task.cancel()
        for transport in list(self._transports):
            if not transport.is_closing():
                transport.abort()
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _remember(self, pipe: Pipe) -> None:
        if pipe.transport:
            self._transports.add(pipe.transport)

    async def _open(self, client: ClientPipe, balancer: Balancer) -> None:
        for backend in balancer.candidates():
            if pipe := await proxy.connect(backend):
                pipes = self._by_pod.setdefault(backend.pod_uid, set())
                self._forget_closed(pipes)
                pipes.add(pipe)
                self._remember(pipe)
                client.join(pipe)
                return
        client.refuse()

    @staticmethod
    def _forget_closed(pipes: set[Pipe]) -> None:
        pipes.difference_update([pipe for pipe in pipes if pipe.closing])


class Listeners:
    """Keeps exactly the listeners that the Services ask for."""

    def __init__(self, registry: PodRegistry) -> None:
        self._registry = registry
        self._sessions = Sessions()
        self._balancers: dict[Listen, Balancer] = {}
        self._servers: dict[Listen, asyncio.Server] = {}
        self._failing: set[Listen] = set()
        registry.on_removal(self._sessions.end)

    async def adjust(self, wanted: Mapping[Listen, Target]) -> bool:
        """Open what is missing and close what is not wanted; say whether everything is open.

        Sessions outlive their listener, as connections outlive a Service in a cluster.
        """
        for listen in self._servers.keys() - wanted.keys():
            self._servers.pop(listen).close()
            self._balancers.pop(listen, None)
        for listen, target in wanted.items():
            balancer = self._balancers.get(listen)
            if balancer is None or balancer.target != target:
                self._balancers[listen] = Balancer(target, self._registry)
        missing = sorted(wanted.keys() - self._servers.keys())
        opened = [await self._open(listen) for listen in missing]
        return all(opened)

    async def close(self) -> None:
        """Stop listening and break every session off."""
        await self.adjust({})
        await self._sessions.close()

    async def _open(self, listen: Listen) -> bool:
        loop = asyncio.get_running_loop()
        try:
            self._servers[listen] = await loop.create_server(
                lambda: ClientPipe(lambda pipe: self._accept(pipe, listen)),
                listen.address,
                listen.port,
                backlog=_BACKLOG,
            )
        except OSError as error:
            level = logging.DEBUG if listen in self._failing else logging.WARNING
            taken = error.errno == errno.EADDRINUSE
            why = f"{holder_of(listen.address, listen.port)} does already" if taken else error
            _log.log(level, "cannot listen on %s:%d: %s", listen.address, listen.port, why)
            self._failing.add(listen)
            return False
        self._failing.discard(listen)
        _log.info("listening on %s:%d", listen.address, listen.port)
        return True

    def _accept(self, client: ClientPipe, listen: Listen) -> None:
        balancer = self._balancers.get(listen)
        if balancer is None:
            client.close()  # Its Service went away between the kernel's accept and ours.
        else:
            self._sessions.open(client, balancer)
