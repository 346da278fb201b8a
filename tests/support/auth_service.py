"""Run ``privatellm-authserver`` as it is deployed, and ask it as Traefik and the platform do."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from auth_world import PLATFORM_KEY, PUBLIC_HOST, Key, question_for
from bare_servers import free_port
from eventually import eventually

START_SECONDS = 60.0
"""Workers are Python processes: on a busy machine one takes many seconds to begin."""


@dataclass(frozen=True)
class Service:
    """A running service."""

    process: Process
    log: Path
    verify: str
    admin: str

    async def ask(self, key: Key) -> httpx.Response:
        """Ask as Traefik does, on a connection of its own."""
        headers = {name.decode(): value.decode() for name, value in question_for(key)}
        async with httpx.AsyncClient() as http:
            return await http.get(f"{self.verify}/auth/verify", headers=headers)

    async def outcomes(self, key: Key, times: int = 12) -> set[str]:
        """Ask often enough to meet every worker; return the different error codes, or ``allowed``."""
        answers = [await self.ask(key) for _ in range(times)]
        return {a.json()["error"]["code"] if a.content else "allowed" for a in answers}

    async def until(self, key: Key, outcome: str, *, within: float = START_SECONDS) -> None:
        """Wait until every worker that we meet says the same."""

        async def agreed() -> bool:
            return await self.outcomes(key) == {outcome}

        await eventually(agreed, within=within, what=f"the outcome {outcome}")

    async def get(self, path: str) -> httpx.Response:
        """Ask the admin port."""
        async with httpx.AsyncClient() as http:
            return await http.get(f"{self.admin}{path}")

    async def until_ready(self, within: float = START_SECONDS) -> None:
        """Wait until every worker is synced."""

        async def ready() -> bool:
            try:
                return (await self.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await eventually(ready, within=within, what="readiness")

    async def until_answering(self, key: Key, within: float = START_SECONDS) -> None:
        """Wait until a worker answers, whatever it says about the key."""

        async def answering() -> bool:
            try:
                return bool((await self.ask(key)).status_code)
            except httpx.TransportError:
                return False

        await eventually(answering, within=within, what="an answer")

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]


def environment_for(kubeconfig: Path, directory: Path) -> dict[str, str]:
    """Return the environment of a service for tests.

    Args:
        kubeconfig: How to reach the API server.
        directory: Where the platform key may be written.
    """
    key_file = directory / "platform-key"
    key_file.write_text(PLATFORM_KEY._text)
    return {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "PUBLIC_HOST": PUBLIC_HOST,
        "PRIVATE_LLM_PLATFORM_KEY_FILE": str(key_file),
        "PRIVATE_LLM_BIND_HOST": "127.0.0.1",
        "PRIVATE_LLM_VERIFY_PORT": str(free_port()),
        "PRIVATE_LLM_ADMIN_PORT": str(free_port()),
        "PRIVATE_LLM_DRAIN_SECONDS": "3",
    }


async def start(environment: dict[str, str], log: Path) -> Service:
    """Start a service without waiting for it."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "privatellm_authserver.main", env=environment, stderr=output
        )
    host = "http://127.0.0.1:"
    verify, admin = (environment[f"PRIVATE_LLM_{port}_PORT"] for port in ("VERIFY", "ADMIN"))
    return Service(process, log, host + verify, host + admin)


@asynccontextmanager
async def running(
    environment: dict[str, str], log: Path, *, within: float = START_SECONDS
) -> AsyncIterator[Service]:
    """Run a service until the block ends; it is ready when the block begins.

    Args:
        environment: Its environment.
        log: Where it writes.
        within: Seconds that it may take to become ready.
    """
    async with starting(environment, log) as service:
        await service.until_ready(within)
        yield service


@asynccontextmanager
async def starting(environment: dict[str, str], log: Path) -> AsyncIterator[Service]:
    """Run a service until the block ends; it may not even listen yet when the block begins.

    Args:
        environment: Its environment.
        log: Where it writes.
    """
    service = await start(environment, log)
    try:
        yield service
    finally:
        if service.process.returncode is None:
            service.process.kill()
        await service.process.wait()
