"""Carrying bytes between a client and a pod, as a kernel would: nothing of them is understood.

A side that is slow slows the other side down, a side that ends its half leaves the other half open,
and a connection that breaks on one side breaks on the other. Only when no pod is ready does the node
speak itself: a literal HTTP 503, because a refused connection would become a 502 at the edge.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import cast

from typing_extensions import override

from privatellm_local.node.services.service import Backend

_log = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
"""How long a pod may take to accept a connection before the next one is tried."""

REFUSAL_SECONDS = 5.0
"""How long a client without a backend may take to send a request and to read the answer."""

_BODY = json.dumps(
    {
        "error": {
            "message": "No server is ready at the moment. Try again in a few seconds.",
            "type": "server_error",
            "param": None,
            "code": "service_unavailable",
        }
    }
).encode()
"""In the words of the OpenAI API: what calls through the edge is one of its clients."""

UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"content-type: application/json\r\n"
    b"content-length: %d\r\n"
    b"retry-after: 1\r\n"
    b"connection: close\r\n\r\n%b"
) % (len(_BODY), _BODY)


class Pipe(asyncio.Protocol):
    """One end of a session: what it receives goes to its peer, once it has one."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer: Pipe | None = None
        self.early = b""
        """What came before there was a peer."""

        self._ended = False

    def join(self, peer: "Pipe") -> None:
        """Let the bytes flow between two connected ends."""
        self.peer, peer.peer = peer, self
        self.catch_up()
        peer.catch_up()

    def close(self) -> None:
        """End the connection after what is written was sent."""
        if self.transport:
            self.transport.close()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        """Pass it on, or keep it and read no more until there is somebody to give it to."""
        if self.peer and self.peer.transport:
            self.peer.transport.write(data)
        elif self.transport:
            # Pausing as soon as the connection is made has no effect before Python 3.12.
            self.early += data
            self.transport.pause_reading()

    @override
    def eof_received(self) -> bool:
        """End this direction; close when the other direction has ended already."""
        self._ended = True
        if self.peer is None:
            return True
        self.peer.end_writing()
        return not self.peer.has_ended

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Let the peer go too: what is written to it already is still sent, unless this end broke."""
        self._ended = True
        self.transport = None  # A transport that is gone answers an abort with an AttributeError.
        if self.peer and self.peer.transport:
            (self.peer.transport.close if exc is None else self.peer.transport.abort)()

    @override
    def pause_writing(self) -> None:
        """Let the peer wait: this end is slow."""
        if self.peer and self.peer.transport:
            self.peer.transport.pause_reading()

    @override
    def resume_writing(self) -> None:
        """Let the peer go on."""
        if self.peer and self.peer.transport:
            self.peer.transport.resume_reading()

    @property
    def has_ended(self) -> bool:
        """Nothing will come from this end any more."""
        return self._ended

    @property
    def closing(self) -> bool:
        """The connection is gone or going."""
        return self.transport is None or self.transport.is_closing()

    def end_writing(self) -> None:
        """Tell this end that nothing more will come for it."""
        if self.transport and not self.transport.is_closing():
            self.transport.write_eof()

    def catch_up(self) -> None:
        """Do what would have been done if the peer had been there from the beginning."""
        if self.peer is None or self.transport is None:
            return
        if self.closing:
            self.peer.close()
            return
        early, self.early = self.early, b""
        if early:
            self.data_received(early)
        if self._ended:
            self.peer.end_writing()
        self.transport.resume_reading()


class ClientPipe(Pipe):
    """The client's end of a session; it looks for a pod as soon as it is connected."""

    def __init__(self, open_session: Callable[["ClientPipe"], None]) -> None:
        super().__init__()
        self._open_session = open_session

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Look for a pod."""
        super().connection_made(transport)
        self._open_session(self)

    def refuse(self) -> None:
        """Answer 503, because there is no pod."""
        if self.transport and not self.closing:
            refusal = Refusal(self.transport)
            self.transport.set_protocol(refusal)
            self.transport.resume_reading()
            if self.early:
                refusal.data_received(self.early)
            if self._ended:
                self.transport.close()


class Refusal(asyncio.Protocol):
    """Answers whatever a client says with 503, and reads on so that the answer is not lost to a reset."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._answered = False
        self._deadline = asyncio.get_running_loop().call_later(REFUSAL_SECONDS, transport.abort)

    @override
    def data_received(self, data: bytes) -> None:
        """Answer the first bytes of a request; the rest of it is thrown away."""
        del data
        if not self._answered:
            self._answered = True
            self._transport.write(UNAVAILABLE)
            self._transport.write_eof()

    @override
    def eof_received(self) -> bool:
        """Close: the client has read the answer, or never asked."""
        return False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        del exc
        self._deadline.cancel()


async def connect(backend: Backend) -> Pipe | None:
    """Return the pod's end of a session, or ``None`` when the pod does not accept it."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, pipe = await loop.create_connection(Pipe, backend.address, backend.port)
    except (OSError, TimeoutError) as error:
        _log.debug("pod %s at %s does not accept: %s", backend.pod_uid, backend.address, error)
        return None
    return pipe
