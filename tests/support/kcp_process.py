"""The executable ``privatellm-sync-agent`` as a deployment runs it, on a provider's world."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bare_servers import free_port, write_kubeconfig
from kcp_clusters import Servers
from kcp_world import PROVIDER, World


class Process:
    """A running agent.

    Attributes:
        child: The process.
        lines: What it logged, up to now.
    """

    def __init__(self, child: asyncio.subprocess.Process, health: int, metrics: int) -> None:
        self.child = child
        self.lines: list[str] = []
        self.health = f"http://127.0.0.1:{health}"
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"

    async def state(self) -> str:
        """Return what the readiness probe says the process is doing."""
        patience = aiohttp.ClientTimeout(total=2)
        try:
            async with (
                aiohttp.ClientSession(timeout=patience) as http,
                http.get(f"{self.health}/readyz") as answer,
            ):
                found: dict[str, Any] = await answer.json()
        except (aiohttp.ClientError, TimeoutError):
            return ""
        return str(found["state"]) if answer.status == 200 else ""

    async def exposition(self) -> bytes:
        """Return what is scraped from it."""
        async with aiohttp.ClientSession() as http, http.get(self.metrics) as answer:
            return await answer.read()

    async def said(self, words: str) -> bool:
        """Return whether a line of its log has these words."""
        return any(words in line for line in self.lines)


@asynccontextmanager
async def agent(
    world: World,
    servers: Servers,
    directory: Path,
    *flags: str,
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[Process]:
    """Run ``privatellm-sync-agent`` as a deployment does.

    Args:
        world: What it syncs.
        servers: Where the service cluster is.
        directory: For its kubeconfig.
        flags: Further arguments.
        variables: Environment variables beside the test's own.
    """
    health, metrics = free_port(), free_port()
    kcp = write_kubeconfig(
        directory / f"kcp-{health}", f"{world.double.url}/clusters/{world.provider.path}", PROVIDER
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "privatellm_sync_agent.main",
        f"--kcp-kubeconfig={kcp}",
        f"--kubeconfig={servers.service}",
        f"--namespace={world.agent_name}",
        f"--agent-name={world.agent_name}",
        f"--apiexportendpointslice-ref={world.export}",
        f"--published-resource-selector=test={world.suffix}",
        f"--health-address=127.0.0.1:{health}",
        f"--metrics-address=127.0.0.1:{metrics}",
        "--log-format=Console",
        *flags,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(variables or {})},
    )
    process = Process(child, health, metrics)
    drained = asyncio.create_task(_drain(process))
    try:
        yield process
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGCONT)  # A frozen process hears nothing else.
            child.terminate()
        await child.wait()
        await drained


async def _drain(process: Process) -> None:
    assert process.child.stderr is not None
    async for line in process.child.stderr:
        process.lines.append(line.decode(errors="replace"))
        sys.stdout.write(process.lines[-1])
