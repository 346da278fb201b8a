"""``privatellm-drain`` beside a real llama.cpp: what a pod's ``preStop`` hook waits for."""

import asyncio
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from bare_servers import free_port
from eventually import eventually
from real_model_server import ENDLESS, KEY, Running, running

SETTLE_SECONDS = 0.1
LONG = 120.0


@pytest.fixture
def server(model: Path, tmp_path: Path) -> Iterator[Running]:
    """A server that a test may end."""
    with running(model, tmp_path) as started:
        yield started


@asynccontextmanager
async def draining(
    server_port: int, directory: Path, grace_seconds: float = LONG
) -> AsyncIterator[tuple[Process, str]]:
    """Run the program; yield its process and the URL of its hook."""
    key_file = directory / "drain-key"
    key_file.write_text(KEY)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "privatellm_operator.drain.main", "--host", "127.0.0.1"),
        *("--server-port", str(server_port), "--port", str(port)),
        *("--api-key-file", str(key_file), "--settle-seconds", str(SETTLE_SECONDS)),
        *("--grace-seconds", str(grace_seconds)),
    )
    url = f"http://127.0.0.1:{port}"

    async def listens() -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            try:
                return (await http.get(f"{url}/nothing")).status_code == 404
            except httpx.ConnectError:
                return False

    try:
        await eventually(listens, what="privatellm-drain")
        yield process, f"{url}/drain"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ask(url: str) -> httpx.Response:
    """Ask as a kubelet does: wait for as long as it takes."""
    async with httpx.AsyncClient(trust_env=False, timeout=LONG) as http:
        return await http.get(url)


def port_of(server: Running) -> int:
    """Return the port of a model server."""
    port = urlsplit(server.url).port
    assert port is not None
    return port


async def test_the_hook_waits_for_a_stream_to_end(server: Running, tmp_path: Path) -> None:
    """And the stream comes to its own end."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with (
        draining(port_of(server), tmp_path) as (_, url),
        httpx.AsyncClient(base_url=server.url, headers=headers, timeout=LONG) as http,
        http.stream("POST", "/v1/completions", json=ENDLESS) as response,
    ):
        lines = response.aiter_lines()
        await anext(lines)
        hook = asyncio.create_task(ask(url))
        rest = []
        async for line in lines:
            assert not hook.done()
            rest.append(line)
        answer = await hook

    assert [line for line in rest if line][-1] == "data: [DONE]"
    assert answer.status_code == 200
    assert "everything in hand is finished" in answer.text


async def test_the_hook_does_not_wait_longer_than_the_pod_may(
    server: Running, tmp_path: Path
) -> None:
    """An answer without end is cut by the grace period and not by nothing."""
    headers = {"Authorization": f"Bearer {KEY}"}
    endless = ENDLESS | {"max_tokens": 100_000}
    async with (
        draining(port_of(server), tmp_path, grace_seconds=1.0) as (_, url),
        httpx.AsyncClient(base_url=server.url, headers=headers, timeout=LONG) as http,
        http.stream("POST", "/v1/completions", json=endless) as response,
    ):
        lines = response.aiter_lines()  # Kept, because a generator that is dropped ends the stream.
        await anext(lines)
        assert "the grace period is over" in (await ask(url)).text


async def test_it_stays_for_as_long_as_the_server_listens(server: Running, tmp_path: Path) -> None:
    """A pod's containers are told to end at once, and the hook may ask only then."""
    async with draining(port_of(server), tmp_path) as (process, url):
        process.send_signal(signal.SIGTERM)
        assert (await ask(url)).status_code == 200
        assert process.returncode is None

        server.process.kill()
        async with asyncio.timeout(30):
            assert await process.wait() == 0


async def test_a_server_that_is_gone_has_nothing_in_hand(tmp_path: Path) -> None:
    """The hook of a crashed server must not hold its pod up."""
    async with draining(free_port(), tmp_path) as (_, url):
        assert (await ask(url)).status_code == 200
