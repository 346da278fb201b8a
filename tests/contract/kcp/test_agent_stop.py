"""A real process that is asked to stop in the middle of a pass finishes that pass, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_process import Process, agent
from kcp_world import SECRET, Workspace, World
from privatellm.kube.kinds import LEASE
from privatellm_local.kcp.faults import Rule
from privatellm_sync_agent.objects.ownership import COPY, finalizer_of

pytestmark = pytest.mark.deep

PASSWORD_RULE: dict[str, Any] = {
    "identifier": "password",
    "origin": "kcp",
    "kind": "Secret",
    "object": {"reference": {"path": "spec.secret"}},
}
SLOW_SECONDS = 3.0
"""How long kcp thinks about the first write of a pass; the signal arrives meanwhile."""


async def order(world: World, acme: Workspace, name: str) -> None:
    """Order an object that names a Secret of the customer."""
    await acme.create(SECRET, f"{name}-password", "default", stringData={"password": "p"})
    await acme.create(world.kind, name, "default", spec={"secret": f"{name}-password"})


async def is_whole(world: World, acme: Workspace, name: str) -> bool:
    """Return whether everything is there that one pass over an ordered object makes, first to last."""
    ours = finalizer_of(world.agent_name)
    remote = await acme.client.get(world.kind, name, "default")
    password = await acme.client.get(SECRET, f"{name}-password", "default")
    assert remote is not None
    assert password is not None
    assert remote["metadata"].get("finalizers") == [ours]
    copies = [one for one in await world.copies() if one["spec"] == remote["spec"]]
    assert len(copies) == 1
    namespace = copies[0]["metadata"]["namespace"]
    assert password["metadata"].get("finalizers") == [ours]
    below = await world.service.list(SECRET, namespace, labels=f"{COPY}=true")
    assert f"{name}-password" in {
        one["metadata"]["annotations"]["syncagent.kcp.io/remote-object-name"] for one in below.items
    }
    return True


async def leading(process: Process) -> None:
    """Wait until a process leads."""

    async def look() -> bool:
        return await process.state() == "leading"

    await eventually(look, what="a leader", within=60)


async def test_a_pass_that_runs_when_the_signal_comes_is_finished(
    world: World, api_servers: Servers, agent_namespace: str, tmp_path: Path
) -> None:
    """Its writes are all there without any other agent, nothing later is begun, and the Lease is free."""
    await world.publish(related=[PASSWORD_RULE])
    async with agent(world, api_servers, tmp_path, "--enable-leader-election") as process:
        await leading(process)
        await world.published()
        acme = await world.customer()
        await order(world, acme, "before")
        await eventually(lambda: is_whole(world, acme, "before"), what="a synced object")
        slow = Rule(200, path="/things/during$", method="PATCH", delay=SLOW_SECONDS)
        world.double.faults.add(slow)
        await order(world, acme, "during")

        async def reached() -> bool:
            return slow.times == 0

        await eventually(reached, what="the first write of a pass")
        process.child.terminate()
        await eventually(lambda: process.said("stopping"), what="a process that stops")
        await order(world, acme, "after")

        assert await process.child.wait() == 0

    assert await process.said("running=1")
    assert await process.said("passes finished")
    assert await is_whole(world, acme, "during")
    assert "ObjectPlaced" in await acme.events("during")
    untouched = await acme.client.get(world.kind, "after", "default")
    assert untouched is not None
    assert "finalizers" not in untouched["metadata"]
    lease = await world.service.get(LEASE, f"syncagent.{agent_namespace}", agent_namespace)
    assert lease is not None
    assert not lease["spec"].get("holderIdentity")
