"""The executable: upstream's flags, probes and metrics."""

from pathlib import Path

import aiohttp
import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_process import agent
from kcp_world import World

pytestmark = pytest.mark.deep


@pytest.mark.usefixtures("agent_namespace")
async def test_the_executable_syncs_and_tells_how_it_is(
    world: World, api_servers: Servers, tmp_path: Path
) -> None:
    """Ready means synced; metrics count what is there; SIGTERM ends it in an orderly way."""
    published = await world.publish()
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
