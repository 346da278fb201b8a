"""Of two replicas one leads: it may stop, die or freeze, and only one ever writes."""

import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_process import Process, agent
from kcp_secrets import encoded, give_secret, secret_of
from kcp_world import SECRET, Workspace, World
from privatellm.kube import Manifest
from privatellm.kube.kinds import LEASE
from privatellm_local.kcp.faults import Rule

pytestmark = pytest.mark.deep

SECRET_RULE: dict[str, Any] = {
    "identifier": "credentials",
    "origin": "service",
    "kind": "Secret",
    "watch": {"byOwner": {}},
    "object": {"reference": {"path": "status.secret"}},
}
FLAG = "--enable-leader-election"
LOOKS = 20
"""Looks in a row that see the same: a second and more."""

TAKEN_OVER_WITHIN = 60.0
"""Seconds; a Lease that nobody renews runs out after 15."""


@dataclass(slots=True)
class Replicas:
    """Two processes of one agent, and a customer whose object the leader has synced.

    Attributes:
        world: Where they work.
        leader: The one that leads.
        other: The one that stands by.
        acme: The customer.
        before: The copy of the customer's object ``x``, of size 1.
    """

    world: World
    leader: Process
    other: Process
    acme: Workspace
    before: Manifest

    async def taken_over(self) -> None:
        """Wait until the other one leads."""

        async def look() -> bool:
            return await self.other.state() == "leading"

        await eventually(look, what="a new leader", within=TAKEN_OVER_WITHIN)

    async def holder(self) -> str:
        """Return who holds the Lease."""
        name = self.world.agent_name
        lease = await self.world.service.get(LEASE, f"syncagent.{name}", name)
        assert lease is not None
        return str(lease["spec"]["holderIdentity"])

    async def resize(self, size: int) -> Manifest:
        """Change the object and return its copy, the same as before, when it has the change."""
        await self.acme.client.patch(self.world.kind, "x", "default", {"spec": {"size": size}})
        return await self.sized(size)

    async def sized(self, size: int) -> Manifest:
        """Return the copy when it has a size; it is the same object as before."""

        async def look() -> Manifest | None:
            copy = await self.world.copy_of(self.acme, "x")
            return copy if copy["spec"] == {"size": size} else None

        copy = await eventually(look, what=f"size {size} in the copy")
        assert copy is not None
        assert copy["metadata"]["uid"] == self.before["metadata"]["uid"]
        return copy


@pytest.fixture
async def replicas(
    world: World, api_servers: Servers, agent_namespace: str, tmp_path: Path
) -> AsyncIterator[Replicas]:
    """Two replicas, one of which has synced an object."""
    assert agent_namespace == world.agent_name
    await world.publish(related=[SECRET_RULE])
    async with (
        agent(world, api_servers, tmp_path, FLAG) as first,
        agent(world, api_servers, tmp_path, FLAG) as second,
    ):

        async def one_leads() -> list[str]:
            states = [await first.state(), await second.state()]
            return states if sorted(states) == ["leading", "standby"] else []

        states = await eventually(one_leads, what="one leader and one stand-by", within=60)
        leader, other = (first, second) if states[0] == "leading" else (second, first)
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        yield Replicas(world, leader, other, acme, await world.copy_of(acme, "x"))


async def test_a_leader_that_stops_hands_over_at_once(replicas: Replicas) -> None:
    """Nothing is made twice."""
    replicas.leader.child.terminate()
    assert await replicas.leader.child.wait() == 0
    await replicas.taken_over()
    await replicas.resize(2)


async def test_a_leader_that_is_killed_is_followed_when_its_lease_ran_out(
    replicas: Replicas,
) -> None:
    """What changed in between is carried by the new leader; nothing is made twice."""
    replicas.leader.child.kill()
    await replicas.leader.child.wait()
    await replicas.acme.client.patch(replicas.world.kind, "x", "default", {"spec": {"size": 2}})
    await replicas.taken_over()
    await replicas.sized(2)
    assert str(replicas.other.child.pid) in await replicas.holder()


async def test_a_leader_that_was_frozen_writes_nothing_any_more(replicas: Replicas) -> None:
    """It wakes up in the middle of a pass, with an answer of the past, and another one leads.

    It is frozen between reading a copied Secret and bringing it up to date. Meanwhile the new leader does
    that, and carries a further change. What the old one was about to write would take that back.
    """
    world, acme = replicas.world, replicas.acme
    namespace = replicas.before["metadata"]["namespace"]
    await give_secret(world, replicas.before, "s", data=encoded(key="one"))
    await secret_of(acme, "s", key="one")
    await settled(world, acme)
    slow = world.double.faults.add(Rule(200, path="/secrets/s$", method="GET", delay=2))
    await world.service.patch(SECRET, "s", namespace, {"data": encoded(key="two")})

    async def reads() -> bool:
        return slow.times == 0

    await eventually(reads, what="a pass that reads the copy")
    replicas.leader.child.send_signal(signal.SIGSTOP)
    await replicas.taken_over()
    await secret_of(acme, "s", key="two")
    await world.service.patch(SECRET, "s", namespace, {"data": encoded(key="three")})
    await secret_of(acme, "s", key="three")
    await replicas.resize(2)
    before = await settled(world, acme)

    replicas.leader.child.send_signal(signal.SIGCONT)

    assert await replicas.leader.child.wait() == 1
    assert any("was taken over" in line for line in replicas.leader.lines)
    assert await settled(world, acme) == before
    assert str(replicas.other.child.pid) in await replicas.holder()
    assert await replicas.other.state() == "leading"


async def settled(world: World, acme: Workspace) -> dict[str, str]:
    """Return the versions of all objects on both sides, which any write would change, once they rest."""

    async def look() -> dict[str, str]:
        found = [*(await acme.client.list(world.kind)).items, *await world.copies()]
        found += (await acme.client.list(SECRET, "default")).items
        return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in found}

    seen: list[dict[str, str]] = []

    async def rests() -> bool:
        seen.append(await look())
        return len(seen) > LOOKS and all(one == seen[-1] for one in seen[-LOOKS:])

    await eventually(rests, what="two sides at rest")
    return seen[-1]
