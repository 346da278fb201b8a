"""The executable: upstream's flags, probes, metrics, and one leader of two replicas."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bare_servers import free_port, write_kubeconfig
from eventually import eventually
from kcp_clusters import Servers
from kcp_world import NAMESPACE, PROVIDER, World
from privatellm.kube.kinds import LEASE

pytestmark = pytest.mark.deep


class Process:
    """A running agent."""

    def __init__(self, child: asyncio.subprocess.Process, health: int, metrics: int) -> None:
        self.child = child
        self.health = f"http://127.0.0.1:{health}"
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"

    async def state(self) -> str:
        """Return what the readiness probe says the process is doing."""
        try:
            async with aiohttp.ClientSession() as http, http.get(f"{self.health}/readyz") as answer:
                found: dict[str, Any] = await answer.json()
        except aiohttp.ClientError:
            return ""
        return str(found["state"]) if answer.status == 200 else ""


@asynccontextmanager
async def agent(
    world: World, servers: Servers, directory: Path, *flags: str
) -> AsyncIterator[Process]:
    """Run ``privatellm-sync-agent`` as a deployment does."""
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
        env={**os.environ},
    )
    drained = asyncio.create_task(_drain(child))
    try:
        yield Process(child, health, metrics)
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()
        await drained


async def _drain(child: asyncio.subprocess.Process) -> None:
    assert child.stderr is not None
    async for line in child.stderr:
        sys.stdout.write(line.decode(errors="replace"))


@pytest.fixture
async def published(world: World) -> str:
    """A published kind and the agent's own namespace."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.agent_name}}
    await world.service.create(NAMESPACE, manifest)
    return await world.publish()


async def test_the_executable_syncs_and_tells_how_it_is(
    world: World, api_servers: Servers, published: str, tmp_path: Path
) -> None:
    """Ready means synced; metrics count what is there; SIGTERM ends it in an orderly way."""
    async with agent(world, api_servers, tmp_path) as process:
        await eventually(process.state, what="a ready agent", within=40)
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await world.copy_of(acme, "x")
        async with aiohttp.ClientSession() as http, http.get(process.metrics) as answer:
            text = await answer.text()
        assert "sync_agent_published_resource 1.0" in text
        assert f'sync_agent_copies{{resource="{published}"}} 1.0' in text
        async with aiohttp.ClientSession() as http, http.get(f"{process.health}/healthz") as answer:
            assert answer.status == 200
        process.child.terminate()
        assert await process.child.wait() == 0


async def test_of_two_replicas_one_leads_and_the_other_takes_over(
    world: World, api_servers: Servers, published: str, tmp_path: Path
) -> None:
    """Both are ready; when the leader goes, no object is made twice."""
    flag = "--enable-leader-election"
    async with (
        agent(world, api_servers, tmp_path, flag) as first,
        agent(world, api_servers, tmp_path, flag) as second,
    ):

        async def one_leads() -> list[str]:
            states = [await first.state(), await second.state()]
            return states if sorted(states) == ["leading", "standby"] else []

        states = await eventually(one_leads, what="one leader and one stand-by", within=40)
        lease = await world.service.get(LEASE, f"syncagent.{world.agent_name}", world.agent_name)
        assert lease is not None
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        before = await world.copy_of(acme, "x")
        leader, other = (first, second) if states[0] == "leading" else (second, first)
        leader.child.terminate()
        await leader.child.wait()

        async def taken_over() -> bool:
            return await other.state() == "leading"

        await eventually(taken_over, what="a new leader", within=40)
        await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})

        async def followed() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(followed, what="a change that the new leader carried")
        assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--disabled-controllers=nothing"], 2, "apiexport, apiresourceschema, sync"),
        (["--agent-name=Not_a_label"], 2, "DNS label"),
        (["--unknown"], 2, "--unknown"),
        (["--apiexportendpointslice-ref=missing"], 1, "APIExportEndpointSlice missing"),
    ],
)
async def test_a_mistake_on_the_command_line_is_said_in_one_sentence(
    world: World,
    api_servers: Servers,
    tmp_path: Path,
    flags: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And not in a traceback."""
    async with agent(world, api_servers, tmp_path, *flags) as process:
        assert await process.child.wait() == code
    printed = capsys.readouterr().out
    assert said in printed
    assert "Traceback" not in printed
