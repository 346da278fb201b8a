"""The rights that the how-to page asks for are enough: the agent runs with exactly those."""

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_rights import limited
from kcp_world import SECRET, World

pytestmark = pytest.mark.deep


async def test_the_documented_rights_are_enough_for_a_whole_life(
    world: World, api_servers: Servers
) -> None:
    """An object with a Secret is created, changed and deleted."""
    related = {
        "identifier": "credentials",
        "origin": "service",
        "kind": "Secret",
        "cleanup": True,
        "watch": {"byOwner": {}},
        "object": {"reference": {"path": "status.secret"}},
    }
    await world.publish(related=[related])
    client = await limited(world, api_servers)
    async with client, world.agent(service=client):
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        metadata = copy["metadata"]
        owner = {
            "apiVersion": copy["apiVersion"],
            "kind": copy["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        secret = {"name": "s", "namespace": metadata["namespace"], "ownerReferences": [owner]}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": secret}
        await world.service.create(SECRET, manifest | {"stringData": {"key": "one"}})
        body = {"status": {"secret": "s"}}
        place = (metadata["name"], metadata["namespace"])
        await world.service.patch(world.kind, *place, body, subresource="status")
        await eventually(lambda: acme.client.get(SECRET, "s", "default"), what="the Secret")
        await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})

        async def followed() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(followed, what="the change")
        await acme.client.delete(world.kind, "x", "default")

        async def ended() -> bool:
            left = [
                await acme.client.get(world.kind, "x", "default"),
                await acme.client.get(SECRET, "s", "default"),
                *await world.copies(),
            ]
            return not any(left)

        await eventually(ended, what="the end of everything")
