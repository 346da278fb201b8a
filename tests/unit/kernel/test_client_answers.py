"""What answers of an API server leave behind in a client, on real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from kubernetes.aio.client import Configuration

from foreign_answers import answering, head
from privatellm.errors import RejectedError, UnavailableError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.credentials import Credentials

NESTED = b"[" * 4000 + b"\n"


@asynccontextmanager
async def client_of(*pieces: bytes) -> AsyncIterator[KubeClient]:
    """Run an API server that answers in these pieces, and yield a client of it."""
    async with answering(*pieces) as server:
        configuration = Configuration(host=f"http://127.0.0.1:{server.port}")
        async with KubeClient(Credentials(None, configuration)) as client:
            yield client


@pytest.mark.parametrize("hours", [-1, 1])
async def test_our_clock_is_ahead_by_what_the_servers_is_behind(hours: int) -> None:
    """Positive when ours is ahead: the sign tells people which of two clocks to set."""
    there = datetime.now(UTC) - timedelta(hours=hours)
    date = f"Date: {format_datetime(there, usegmt=True)}"
    async with client_of(head(2, date) + b"{}") as client:
        assert client.seconds_ahead is None

        await client.request("GET", "/version")

        assert client.seconds_ahead == pytest.approx(hours * 3600, abs=60)


async def test_an_answer_that_nobody_can_follow_is_a_server_that_cannot_be_reached() -> None:
    """A proxy between us may answer anything; whoever asked comes back later."""
    async with client_of(head(len(NESTED)) + NESTED) as client:
        with pytest.raises(UnavailableError, match="must be JSON"):
            await client.request("GET", "/version")
        with pytest.raises(UnavailableError, match="must be JSON"):
            async for _ in client.watch(kinds.SECRET, resource_version="1"):
                pass


async def test_a_refusal_that_nobody_can_follow_is_a_refusal() -> None:
    """Its status says enough."""
    async with client_of(head(len(NESTED), status="422 No") + NESTED) as client:
        with pytest.raises(RejectedError):
            await client.request("GET", "/version")
