"""The operator's real process under test, started as a deployment would start it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import httpx

from eventually import eventually

STOP_SECONDS = 60.0


@dataclass(frozen=True)
class Probed:
    """An operator, seen from outside.

    Attributes:
        port: Where its probes and metrics are.
    """

    port: int

    async def state(self) -> str:
        """Return what ``/readyz`` says; empty while nobody listens."""
        try:
            async with httpx.AsyncClient() as http:
                return (await http.get(f"http://127.0.0.1:{self.port}/readyz")).text.strip()
        except httpx.TransportError:
            return ""

    async def metric(self, line_start: str) -> float:
        """Return the value of the metric whose line starts so; 0 when there is none."""
        async with httpx.AsyncClient() as http:
            text = (await http.get(f"http://127.0.0.1:{self.port}/metrics")).text
        found = (line for line in text.splitlines() if line.startswith(line_start))
        return float(next(found, "0").rsplit(" ", 1)[-1])

    async def total(self, name: str) -> float:
        """Return the sum of all series of a metric."""
        async with httpx.AsyncClient() as http:
            text = (await http.get(f"http://127.0.0.1:{self.port}/metrics")).text
        lines = (line for line in text.splitlines() if line.startswith(f"{name}{{"))
        return sum(float(line.rsplit(" ", 1)[-1]) for line in lines)

    async def until(self, state: str) -> None:
        """Wait until the process says that it is in a state."""

        async def reached() -> bool:
            return await self.state() == state

        await eventually(reached, within=60, what=f"an operator that is {state}")


@dataclass(frozen=True)
class RunningOperator(Probed):
    """A started process.

    Attributes:
        process: The process.
    """

    process: asyncio.subprocess.Process

    async def stop(self) -> int:
        """Ask the process to stop and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS):
            return await self.process.wait()


def environment(kubeconfig: Path, directory: Path, **variables: str) -> dict[str, str]:
    """Return the environment of an operator whose platform key lies in ``directory``."""
    key = directory / "platform-key"
    key.write_text("a platform key of the tests, long enough")
    return {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "PUBLIC_HOST": "llm.example.com",
        "PRIVATE_LLM_PLATFORM_KEY_FILE": str(key),
        "PRIVATE_LLM_BIND_HOST": "127.0.0.1",
        "PRIVATE_LLM_LOG_FORMAT": "console",
    } | variables


@asynccontextmanager
async def running(variables: Mapping[str, str], log: Path) -> AsyncIterator[RunningOperator]:
    """Start an operator and end it, whatever the test did."""
    port = _free_port()
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "privatellm_operator.main"),
            env={**variables, "PRIVATE_LLM_METRICS_PORT": str(port)},
            stdout=output,
            stderr=output,
        )
        try:
            yield RunningOperator(port, process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _free_port() -> int:
    with socket(AF_INET, SOCK_STREAM) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
