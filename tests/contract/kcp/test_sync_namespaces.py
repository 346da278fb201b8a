"""Local namespaces: removed when they are ours, empty, and their workspace is gone; never otherwise."""

import pytest

from kcp_world import CONFIG_MAP, NAMESPACE, World, gone
from privatellm.kube import Manifest
from privatellm_sync_agent.agent import Agent

pytestmark = pytest.mark.deep


async def sweep_thrice(agent: Agent) -> None:
    for _ in range(3):
        await agent.namespaces.sweep()


async def state(world: World, name: str) -> Manifest | None:
    """Return a namespace that is not being deleted; nothing finishes a deletion here."""
    found = await world.service.get(NAMESPACE, name)
    return found if found and "deletionTimestamp" not in found["metadata"] else None


async def test_only_an_empty_namespace_of_a_workspace_that_is_gone_is_removed(world: World) -> None:
    """6b.L: a workspace that lives keeps its own, and so does one in which somebody left something."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        empty, used, alive = [await world.customer(name) for name in ("empty", "used", "alive")]
        for customer in (empty, used, alive):
            await customer.create(world.kind, "x", "default", spec={})
            await world.copy_of(customer, "x")
        left = {"name": "left", "namespace": used.cluster}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": left}
        await world.service.create(CONFIG_MAP, manifest)
        await alive.client.delete(world.kind, "x", "default")
        await gone(world, empty, agent)
        await gone(world, used, agent)
        await sweep_thrice(agent)
        assert await state(world, empty.cluster) is None
        assert await state(world, used.cluster) is not None
        assert await state(world, alive.cluster) is not None


async def test_what_cannot_be_seen_is_not_gone(world: World) -> None:
    """Without an endpoint nothing is known, so nothing is removed."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        agent.manager.set_endpoints(())
        await sweep_thrice(agent)
        unreachable = f"{world.double.url}/services/apiexport/nobody/nothing"
        agent.manager.set_endpoints((unreachable,))
        await sweep_thrice(agent)
        assert await state(world, acme.cluster) is not None
        assert await world.service.get(
            world.kind, copy["metadata"]["name"], copy["metadata"]["namespace"]
        )
