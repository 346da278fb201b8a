import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from eventually import eventually
from node_builders import container
from privatellm_local.node.registry import LocalPod, PodRegistry
from privatellm_local.node.services import listeners as listeners_module
from privatellm_local.node.services.listeners import Listeners
from privatellm_local.node.services.service import Listen, Target

ADDRESS = "127.0.0.1"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Open = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Front:
    """A Service on a free port of this machine."""

    def __init__(self, port: int) -> None:
        self.registry = PodRegistry()
        self.listeners = Listeners(self.registry)
        self.listen = Listen(ADDRESS, port)

    async def start(self) -> bool:
        """Listen."""
        return await self.listeners.adjust({self.listen: Target("shop", {}, "http")})

    def add(self, uid: str, port: int, *, ready: bool = True) -> None:
        """Add a pod."""
        ports = [{"name": "http", "containerPort": port}]
        self.registry.put(LocalPod(uid, "shop", {}, ADDRESS, (container(ports=ports),), ready))

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect as a client."""
        return await asyncio.open_connection(ADDRESS, self.listen.port)

    async def ask(self, request: bytes = b"GET / HTTP/1.1\r\n\r\n") -> bytes:
        """Return everything that the Service answers."""
        reader, writer = await self.connect()
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 10)
        await closed(writer)
        return answer


@asynccontextmanager
async def backend(handler: Handler) -> AsyncIterator[int]:
    """A pod's server; yields its port, and leaves no connection open."""
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(cast("asyncio.Task[None]", asyncio.current_task()))
        try:
            await handler(reader, writer)
        finally:
            await closed(writer)

    server = await asyncio.start_server(serve, ADDRESS, 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever became of it."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def settled() -> None:
    """Let transports that were told to close do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def free_port() -> int:
    async with backend(echo) as port:
        return port


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with everything that was said, when the client has said everything."""
    writer.write(await reader.read())
    writer.close()


def name(text: bytes) -> Handler:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(text)
        writer.close()

    return answer


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    front = Front(await free_port())
    assert await front.start()
    yield front
    await front.listeners.close()
    await settled()


async def test_each_half_of_a_connection_ends_by_itself(front: Front) -> None:
    """A client may say everything first and read the answer afterwards."""
    async with backend(echo) as port:
        front.add("1", port)
        reader, writer = await front.connect()
        writer.write(b"all of it")
        writer.write_eof()

        assert await asyncio.wait_for(reader.read(), 10) == b"all of it"
        await closed(writer)


async def test_many_bytes_arrive_in_order(front: Front) -> None:
    """More than any buffer holds, in both directions."""
    data = bytes(range(256)) * 40_000
    async with backend(echo) as port:
        front.add("1", port)
        reader, writer = await front.connect()

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        sending = asyncio.create_task(send())
        assert await asyncio.wait_for(reader.read(), 20) == data
        await sending
        await closed(writer)


async def test_a_slow_client_slows_the_pod_down(front: Front) -> None:
    """Bytes do not pile up in the node."""
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while sent < 512 * 2**20:
            writer.write(b"x" * 2**20)
            await writer.drain()
            sent += 2**20

    async with backend(pour) as port:
        front.add("1", port)
        _, writer = await front.connect()
        seen = -1

        async def stalled() -> bool:
            nonlocal seen
            before, seen = seen, sent
            return before == sent > 0

        await eventually(stalled, what="a pod that waits for its client")
        assert sent < 64 * 2**20
        writer.transport.abort()
        await closed(writer)


async def test_without_a_ready_pod_the_answer_is_503(front: Front) -> None:
    """A literal one, on a connection that ends, however much the client says."""
    front.add("1", 1, ready=False)

    for request in (b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n" + b"x" * 10_000_000):
        answer = await front.ask(request)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"connection: close" in head
        assert json.loads(body)["error"]["code"] == "service_unavailable"


async def test_a_pod_that_does_not_accept_is_passed_over(front: Front) -> None:
    """The next one gets the connection; without one the answer is 503."""
    front.add("1", await free_port())
    assert (await front.ask()).startswith(b"HTTP/1.1 503 ")

    async with backend(name(b"two")) as port:
        front.add("2", port)

        assert [await front.ask() for _ in range(4)] == [b"two"] * 4


async def test_pods_take_turns_and_an_ending_one_gets_nothing_new(front: Front) -> None:
    """As soon as the node knows that it ends."""
    async with backend(name(b"one")) as one, backend(name(b"two")) as two:
        front.add("1", one)
        front.add("2", two)
        assert sorted([await front.ask() for _ in range(4)]) == [b"one"] * 2 + [b"two"] * 2

        front.add("1", one, ready=False)

        assert [await front.ask() for _ in range(4)] == [b"two"] * 4


async def test_a_session_with_an_ending_pod_is_served_to_its_end(front: Front) -> None:
    """Only new connections go elsewhere."""
    go_on = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        await go_on.wait()
        writer.write(b"finished")
        writer.close()

    async with backend(answer) as port:
        front.add("1", port)
        asking = asyncio.create_task(front.ask())

        async def connected() -> bool:
            return bool(front.listeners._sessions._by_pod.get("1"))

        await eventually(connected)
        front.add("1", port, ready=False)
        go_on.set()

        assert await asking == b"finished"


async def test_a_pod_that_breaks_off_breaks_the_clients_connection(front: Front) -> None:
    """A cut answer must not look like a complete one."""

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.transport.abort()

    async with backend(reset) as port:
        front.add("1", port)
        try:
            answer = await front.ask()
        except ConnectionError:
            answer = b""

        assert answer == b""


async def test_what_is_left_of_a_gone_pods_sessions_is_closed(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that never closes does not hold a connection for ever."""
    monkeypatch.setattr(listeners_module, "LINGER_SECONDS", 0.05)
    forever = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        await forever.wait()
        writer.close()

    async with backend(hang) as port:
        front.add("1", port)
        reader, writer = await front.connect()
        assert await reader.readline() == b"hello\n"

        front.registry.remove("1")

        assert await asyncio.wait_for(reader.read(), 10) == b""
        await closed(writer)
        forever.set()


async def test_a_port_that_is_taken_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """The log says which one, and it is served when it is free."""
    async with backend(echo) as port:
        front = Front(port)
        assert not await front.start()
        assert str(port) in caplog.text

    assert await front.start()
    await front.listeners.close()


async def test_a_service_that_is_gone_is_not_listened_for(front: Front) -> None:
    """Its port is free for others."""
    await front.listeners.adjust({})

    with pytest.raises(ConnectionRefusedError):
        await front.connect()
