"""The bundled edge loses no request behind a stream of a server that closes its connection without a word.

llama.cpp does that behind every stream, though its head says that the connection is kept. Whether a proxy's
next request meets the end of such a connection is a race; the server of these tests lets it be lost each
time: it closes as soon as the next request reaches it. Where the proxy closes first, nothing can be lost.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import yaml

import chart_helm
from bare_servers import free_port
from chart_helm import Manifest
from eventually import eventually
from privatellm_local.edge import program

STREAMS = 50
END = b"data: [DONE]\n\n"

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Keep-Alive: timeout=5, max=100\r\n\r\n" + b"%x\r\n%s\r\n0\r\n\r\n" % (len(END), END)
)


async def stream_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Stream one answer as llama.cpp does, and close as soon as anything follows."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
        writer.write(ANSWER)
        await reader.read(1)
    writer.close()


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """The URL of the server."""
    async with await asyncio.start_server(stream_once, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield f"http://{host}:{port}"


@asynccontextmanager
async def traefik(directory: Path, server: str, options: list[str]) -> AsyncIterator[str]:
    """Run Traefik in front of the server, with options of its connections, and yield its URL."""
    address = f"127.0.0.1:{free_port()}"
    routes = directory / "routes.yaml"
    router = {"rule": "PathPrefix(`/v1/`)", "service": "llama"}
    service = {"loadBalancer": {"servers": [{"url": server}]}}
    http = {"routers": {"llama": router}, "services": {"llama": service}}
    routes.write_text(yaml.safe_dump({"http": http}))
    process = await asyncio.create_subprocess_exec(
        str(program.find()),
        f"--entryPoints.web.address={address}",
        f"--providers.file.filename={routes}",
        "--global.checkNewVersion=false",
        *options,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        await process.wait()


async def statuses(url: str) -> Counter[int]:
    """Ask for streams one after another, once Traefik has its route, and count the answers' statuses."""
    async with httpx.AsyncClient(base_url=url) as http:

        async def asked() -> int:
            async with http.stream("POST", "/v1/chat/completions", json={"stream": True}) as answer:
                # A stream that Traefik cuts off is another trouble, and has had its status.
                with contextlib.suppress(httpx.RemoteProtocolError):
                    await answer.aread()
            return answer.status_code

        async def routed() -> bool:
            try:
                return await asked() != httpx.codes.NOT_FOUND
            except httpx.TransportError:
                return False

        await eventually(routed, what="Traefik's route")
        return Counter([await asked() for _ in range(STREAMS)])


def transport_of(objects: tuple[Manifest, ...]) -> list[str]:
    """Return the bundled edge's options of connections to servers."""
    edge = chart_helm.one(objects, "Deployment", "private-llm-edge")
    (container,) = edge["spec"]["template"]["spec"]["containers"]
    return [arg for arg in container["args"] if arg.startswith("--serversTransport.")]


async def test_no_request_is_lost_behind_a_stream(
    defaults: tuple[Manifest, ...], tmp_path: Path, server: str
) -> None:
    """With the options that the chart renders: each request has a connection of its own."""
    async with traefik(tmp_path, server, transport_of(defaults)) as url:
        assert await statuses(url) == {200: STREAMS}


async def test_a_traefik_that_keeps_connections_loses_requests(tmp_path: Path, server: str) -> None:
    """So the server of these tests can tell the difference, and customers' own Traefik needs the option."""
    async with traefik(tmp_path, server, []) as url:
        answers = await statuses(url)

    assert answers[500] + answers[502] > 0
