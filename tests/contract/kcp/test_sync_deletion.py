"""How an object ends when somebody else protects it, or wants everything below it to be gone first."""

import pytest

from eventually import eventually
from kcp_world import Workspace, World
from privatellm.kube import Manifest

pytestmark = pytest.mark.deep

HOLD = "example.com/hold"
WAIT = {"deletion.syncagent.kcp.io/wait-for-others": "true"}
FOREGROUND = {"syncagent.kcp.io/deletion-propagation-policy": "foreground"}


async def gone(world: World, workspace: Workspace) -> None:
    """Wait until neither the object ``x`` nor a copy is left."""

    async def look() -> bool:
        remote = await workspace.client.get(world.kind, "x", "default")
        return remote is None and not await world.copies()

    await eventually(look, what="the end of x on both sides")


async def held(world: World, *, annotations: dict[str, str] | None = None) -> Workspace:
    """Return a customer whose synced object ``x`` somebody else protects, and who deleted it."""
    acme = await world.customer()
    metadata = {"finalizers": [HOLD], "annotations": annotations or {}}
    await acme.create(world.kind, "x", "default", metadata=metadata, spec={"size": 1})
    await world.copy_of(acme, "x")
    await acme.client.delete(world.kind, "x", "default")
    return acme


async def test_a_copy_waits_for_others_where_the_provider_says_so(world: World) -> None:
    """SA#115: it serves on, follows and reports, and goes when ours is the last finalizer."""
    await world.publish(annotations=WAIT)
    async with world.agent():
        await world.published()
        acme = await held(world)
        before = await world.copy_of(acme, "x")
        await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})

        async def follows() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(follows, what="a change of a dying object in its copy")
        place = (before["metadata"]["name"], before["metadata"]["namespace"])
        status = {"status": {"phase": "Draining"}}
        await world.service.patch(world.kind, *place, status, subresource="status")

        async def reported() -> Manifest | None:
            found = await acme.client.get(world.kind, "x", "default")
            return found if found and found.get("status") == {"phase": "Draining"} else None

        dying = await eventually(reported, what="the status of a dying object")
        assert dying is not None
        assert len(dying["metadata"]["finalizers"]) == 2
        copy = await world.copy_of(acme, "x")
        assert copy["metadata"]["uid"] == before["metadata"]["uid"]
        assert "deletionTimestamp" not in copy["metadata"]

        ours = [name for name in dying["metadata"]["finalizers"] if name != HOLD]
        await acme.client.patch(world.kind, "x", "default", {"metadata": {"finalizers": ours}})
        await gone(world, acme)


async def test_a_copy_that_was_lost_meanwhile_is_not_made_anew(world: World) -> None:
    """Nobody is served anything new for an object that is being deleted."""
    await world.publish(annotations=WAIT)
    async with world.agent():
        await world.published()
        acme = await held(world)
        [copy] = await world.copies()
        name, namespace = copy["metadata"]["name"], copy["metadata"]["namespace"]
        await world.service.delete(world.kind, name, namespace)
        await acme.create(world.kind, "y", "default", spec={})
        await world.copy_of(acme, "y")  # It passes through the same queue after that deletion.
        assert len(await world.copies()) == 1
        dying = await acme.client.get(world.kind, "x", "default")
        assert dying is not None
        ours = [one for one in dying["metadata"]["finalizers"] if one != HOLD]
        await acme.client.patch(world.kind, "x", "default", {"metadata": {"finalizers": ours}})

        async def over() -> bool:
            return await acme.client.get(world.kind, "x", "default") is None

        await eventually(over, what="the end of x")


async def test_agents_do_not_wait_for_each_other(world: World) -> None:
    """SA#172: a finalizer of another agent counts as none, or neither would ever begin."""
    await world.publish(annotations=WAIT)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        others = {"finalizers": ["syncagent.kcp.io/cleanup-0123456789ab"]}
        await acme.create(world.kind, "x", "default", metadata=others, spec={})
        await world.copy_of(acme, "x")
        await acme.client.delete(world.kind, "x", "default")

        async def released() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            return found is not None and found["metadata"]["finalizers"] == others["finalizers"]

        await eventually(released, what="an object that only another agent holds")
        assert await world.copies() == ()


async def test_without_that_the_copy_goes_at_once(world: World) -> None:
    """As upstream does it: what is revoked does not live on because of somebody's finalizer."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await held(world)

        async def no_copy() -> bool:
            return not await world.copies()

        await eventually(no_copy, what="the end of the copy")
        assert await acme.client.get(world.kind, "x", "default") is not None


async def test_a_customer_can_wait_for_what_the_copy_owns(world: World) -> None:
    """SA#174: the copy is deleted in the foreground, and the object stays until it is gone."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        metadata = {"annotations": FOREGROUND}
        await acme.create(world.kind, "x", "default", metadata=metadata, spec={})
        copy = await world.copy_of(acme, "x")
        assert not set(FOREGROUND) & copy["metadata"]["annotations"].keys()
        await acme.client.delete(world.kind, "x", "default")

        async def in_the_foreground() -> bool:
            found = [one["metadata"].get("finalizers") for one in await world.copies()]
            return found == [["foregroundDeletion"]]

        await eventually(in_the_foreground, what="a copy that waits for what it owns")
        assert await acme.client.get(world.kind, "x", "default") is not None
        # No garbage collector runs here, so its part is played.
        place = (copy["metadata"]["name"], copy["metadata"]["namespace"])
        await world.service.patch(world.kind, *place, {"metadata": {"finalizers": []}})
        await gone(world, acme)


@pytest.mark.parametrize("policy", ["orphan", "Foreground", "nonsense"])
async def test_a_customer_cannot_leave_anything_behind(world: World, policy: str) -> None:
    """Nobody pays for what goes on running for an order that was given up."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        metadata = {"annotations": dict.fromkeys(FOREGROUND, policy)}
        await acme.create(world.kind, "x", "default", metadata=metadata, spec={})
        await world.copy_of(acme, "x")
        await acme.client.delete(world.kind, "x", "default")
        await gone(world, acme)
