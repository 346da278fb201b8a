"""The agent dies at every single write of an object's life; the next one ends in the same world."""

import json
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_crash import Death, MortalClient, arm, disarm
from kcp_world import SECRET, Workspace, World
from privatellm.kube import Manifest
from privatellm.kube.kinds import ROLE_BINDING
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.objects.ownership import COPY, finalizer_of

pytestmark = pytest.mark.deep

RELATED: dict[str, Any] = {
    "identifier": "credentials",
    "origin": "service",
    "kind": "Secret",
    "cleanup": True,
    "watch": {"byOwner": {}},
    "object": {"reference": {"path": "metadata.name"}},
}
GRANT = {
    "onboard.syncagent.kcp.io/operator": json.dumps(
        {"clusterRole": "view", "serviceAccount": "default/operator"}
    )
}
CREATIONS = [
    *(pytest.param(at, GRANT, id=f"{at} of 7 with a grant") for at in range(1, 8)),
    *(pytest.param(at, {}, id=f"{at} of 6") for at in range(1, 7)),
]
"""Finalizer, namespace (and what is granted in it), copy, status, Secret, annotation."""

WRITES_OF_A_DELETION = 3
"""Secret, copy, finalizer."""


@pytest.fixture
async def mortal(api_servers: Servers) -> AsyncIterator[MortalClient]:
    """The service cluster's client of an agent that is to die."""
    async with await MortalClient.connect(api_servers.service) as client:
        yield client


async def provide(world: World, acme: Workspace, name: str) -> None:
    """Do what the provider's controller does: a status and a Secret beside the copy."""
    copy = await world.copy_of(acme, name)
    metadata = copy["metadata"]
    body = {"status": {"phase": "Ready"}}
    place = (metadata["name"], metadata["namespace"])
    await world.service.patch(world.kind, *place, body, subresource="status")
    owner = {
        "apiVersion": copy["apiVersion"],
        "kind": copy["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    if await world.service.get(SECRET, *place) is None:
        secret = {"name": place[0], "namespace": place[1], "ownerReferences": [owner]}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": secret}
        await world.service.create(SECRET, manifest | {"stringData": {"key": "one"}})


async def complete(world: World, acme: Workspace, name: str) -> Manifest:
    """Wait until everything about an object is as it should be."""

    async def look() -> Manifest | None:
        remote = await acme.client.get(world.kind, name, "default")
        secret = await acme.client.get(SECRET, name, "default")
        assert remote is not None
        assert secret is not None
        assert remote["status"] == {"phase": "Ready"}
        assert remote["metadata"]["finalizers"] == [finalizer_of(world.agent_name)]
        assert any(name in text for text in remote["metadata"]["annotations"].values())
        return remote

    found = await eventually(look, what=f"everything about {name}")
    assert found is not None
    return found


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("at", "grant"), CREATIONS)
async def test_an_object_is_complete_whichever_write_was_the_last(
    world: World, mortal: MortalClient, at: int, grant: dict[str, str], after: bool
) -> None:
    """One copy, one Secret, one finalizer, and what is granted, whatever was left half done."""
    await publish(world, grant)
    async with world.agent():
        await world.published()
        acme = await world.customer()
    mortal.death = Death(at, after)
    arm(world, mortal.death)
    async with world.agent(service=mortal):
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await until_dead(world, acme, mortal.death)
    disarm(world)
    async with world.agent():
        await provide(world, acme, "x")
        await complete(world, acme, "x")
        (copy,) = await world.copies()
        listing = await world.service.list(ROLE_BINDING, copy["metadata"]["namespace"])
        assert [one["metadata"]["name"] for one in listing.items] == (["view"] if grant else [])


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES_OF_A_DELETION + 1))
async def test_an_object_ends_whichever_write_was_the_last(
    world: World, mortal: MortalClient, at: int, after: bool
) -> None:
    """No copy, no Secret and no finalizer is left behind."""
    await publish(world, {})
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await provide(world, acme, "x")
        await complete(world, acme, "x")
    mortal.death = Death(at, after)
    arm(world, mortal.death)
    async with world.agent(service=mortal):
        await acme.client.delete(world.kind, "x", "default")
        await eventually(lambda: dead(mortal.death), what="the death of the agent")
    disarm(world)
    async with world.agent():

        async def ended() -> bool:
            left = [
                await acme.client.get(world.kind, "x", "default"),
                await acme.client.get(SECRET, "x", "default"),
                *await world.copies(),
            ]
            return not any(left)

        await eventually(ended, what="the end of everything")


DOWN: dict[str, Any] = {
    "identifier": "password",
    "origin": "kcp",
    "kind": "Secret",
    "object": {"reference": {"path": "spec.secret"}},
}
MOST_WRITES = 12
"""No act below needs more writes; a test that gets here would go on for ever."""


class Act(StrEnum):
    """What a customer does with an object that names a Secret of theirs."""

    ORDER = "order"
    RENAME = "rename"
    END = "end"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("act", list(Act))
async def test_a_customers_secret_is_let_go_whichever_write_was_the_last(
    world: World, mortal: MortalClient, act: Act, after: bool
) -> None:
    """The agent dies at the first write, at the second and so on, until it lives through it all."""
    await world.publish(related=[DOWN], naming={"name": "{{ .Object.metadata.name }}"})
    async with world.agent():
        await world.published()
        acme = await world.customer()
    for at in range(1, MOST_WRITES):
        name = f"x{at}"
        for secret in ("one", "two"):
            await acme.create(SECRET, f"{name}-{secret}", "default", stringData={"password": "p"})
        if act is not Act.ORDER:
            await perform(world, acme, Act.ORDER, name)
            async with world.agent():
                await eventually(lambda: agrees(world, acme), what="both sides agreeing")
        death = mortal.death = Death(at, after)
        arm(world, death)
        await perform(world, acme, act, name)
        async with world.agent(service=mortal) as agent:

            async def over(by: Death = death, on: Agent = agent) -> bool:
                return ends(by, on)

            await eventually(over, what="death or rest", within=60)
        disarm(world)
        async with world.agent():
            await eventually(lambda: agrees(world, acme), what="both sides agreeing")
        if not death.reached.is_set():
            return
    raise AssertionError("the agent never lived through it")


async def perform(world: World, acme: Workspace, act: Act, name: str) -> None:
    """Do something with an object."""
    match act:
        case Act.ORDER:
            await acme.create(world.kind, name, "default", spec={"secret": f"{name}-one"})
        case Act.RENAME:
            body = {"spec": {"secret": f"{name}-two"}}
            await acme.client.patch(world.kind, name, "default", body)
        case Act.END:
            await acme.client.delete(world.kind, name, "default")


def ends(death: Death, agent: Agent) -> bool:
    """Return whether the agent died, or wrote something, saw everything and has nothing left to do."""
    queues = [one.queue for one in agent.manager.synchronizers]
    rests = bool(queues) and agent.is_ready and all(queue.is_idle for queue in queues)
    return death.reached.is_set() or (rests and death.count > 0)


async def agrees(world: World, acme: Workspace) -> bool:
    """Return whether there is below what the workspace names, and only what is named is held."""
    remote = (await acme.client.list(world.kind)).items
    named = {one["spec"]["secret"] for one in remote}
    below = await world.service.list(SECRET, acme.cluster, labels=f"{COPY}=true")
    held = {
        one["metadata"]["name"]
        for one in (await acme.client.list(SECRET, "default")).items
        if one["metadata"].get("finalizers")
    }
    copies = {one["metadata"]["name"]: one["spec"]["secret"] for one in await world.copies()}
    assert copies == {one["metadata"]["name"]: one["spec"]["secret"] for one in remote}
    assert not any("deletionTimestamp" in one["metadata"] for one in remote)
    assert {one["metadata"]["name"] for one in below.items} == named
    assert held == named
    return True


async def publish(world: World, grant: dict[str, str]) -> None:
    naming = {
        "name": "{{ .Object.metadata.name }}",
        "namespace": "{{ .ClusterName }}-{{ sha3short .Object.metadata.namespace 12 }}",
    }
    await world.publish(related=[RELATED], naming=naming, annotations=grant)


async def dead(death: Death) -> bool:
    return death.reached.is_set()


async def until_dead(world: World, acme: Workspace, death: Death) -> None:
    """Play the provider until the agent has died; some deaths come before there is a copy."""

    async def look() -> bool:
        if death.reached.is_set():
            return True
        if await world.copies():
            await provide(world, acme, "x")
        return False

    await eventually(look, what="the death of the agent")
