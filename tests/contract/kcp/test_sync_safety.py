"""What the agent never does, whatever it sees: the public reports as tests."""

import asyncio
from typing import Any

import pytest

from eventually import eventually
from kcp_world import NAMESPACE, Workspace, World
from privatellm.errors import KubernetesError
from privatellm.kube import Manifest
from privatellm_local.kcp.faults import Blow
from privatellm_local.kcp.kinds import API_BINDING, CORE_EVENT, WORKSPACE
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.objects.ownership import finalizer_of
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = pytest.mark.deep


async def synced(world: World, workspace: Workspace, name: str, spec: Any) -> Manifest:
    """Wait until the copy of an object has this spec."""

    async def look() -> Manifest | None:
        found = await world.copy_of(workspace, name)
        return found if found["spec"] == spec else None

    found = await eventually(look, what=f"the spec {spec} in the copy of {name}")
    assert found is not None
    return found


async def condition(world: World, name: str) -> dict[str, Any]:
    found = await world.service.get(PUBLISHED_RESOURCE, name)
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == "Accepted"), {})


async def refused(world: World, name: str, reason: str) -> str:
    async def look() -> str:
        found = await condition(world, name)
        return str(found["message"]) if found.get("reason") == reason else ""

    return await eventually(look, what=f"the reason {reason}")


async def test_an_endpoint_that_vanishes_takes_nothing_with_it(world: World) -> None:
    """kcp#2671: what cannot be seen may well be there."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        before = await world.copy_of(acme, "x")
        agent.manager.set_endpoints(())
        agent.manager.set_endpoints((f"{world.double.url}/services/apiexport/nobody/nothing",))

        async def out_of_sight() -> bool:
            [synchronizer] = agent.manager.synchronizers
            return not any(len(one.primaries) for one in synchronizer.world.endpoints.values())

        await eventually(out_of_sight, what="a world without the endpoint")
        assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == before["metadata"]["uid"]
        agent.manager.set_endpoints(
            (f"{world.double.url}/services/apiexport/{world.provider.cluster}/{world.export}",)
        )
        await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})
        await synced(world, acme, "x", {"size": 2})


async def test_a_binding_that_is_deleted_takes_its_objects_along_in_order(world: World) -> None:
    """Kcp asks for the objects first; the copies go, then our finalizers, then the binding."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        for customer in (acme, beta):
            await customer.create(world.kind, "x", "default", spec={})
            await world.copy_of(customer, "x")
        await acme.client.delete(API_BINDING, world.export)

        async def gone() -> bool:
            return await acme.client.get(API_BINDING, world.export) is None

        await eventually(gone, what="the end of the binding")
        [left] = await world.copies()
        assert left["metadata"]["labels"]["syncagent.kcp.io/remote-object-cluster"] == beta.cluster


async def test_a_workspace_can_be_deleted_with_everything_in_it(world: World) -> None:
    """kcp#1353, kcp#1964: no finalizer of ours keeps it."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.namespace("second")
        for namespace in ("default", "second"):
            await acme.create(world.kind, "x", namespace, spec={})

        async def both() -> bool:
            return len(await world.copies()) == 2

        await eventually(both, what="two copies")
        name = acme.path.removeprefix("root:")
        await world.admin.delete(WORKSPACE, name)

        async def gone() -> bool:
            return await world.admin.get(WORKSPACE, name) is None

        await eventually(gone, what="the end of the workspace", within=30)
        assert await world.copies() == ()


async def test_a_restarted_agent_goes_on_where_it_stopped(world: World) -> None:
    """What changed meanwhile is caught up with, and a settled object is not written again."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        for name in ("settled", "changed", "deleted"):
            await acme.create(world.kind, name, "default", spec={"size": 1, "gone": 1})
            await world.copy_of(acme, name)
    settled = await world.copy_of(acme, "settled")
    await acme.client.patch(world.kind, "changed", "default", {"spec": {"size": 2, "gone": None}})
    await acme.client.delete(world.kind, "deleted", "default")
    async with world.agent():
        await synced(world, acme, "changed", {"size": 2})

        async def two() -> bool:
            return len(await world.copies()) == 2

        await eventually(two, what="the end of the deleted one's copy")
        found = await world.copy_of(acme, "settled")
        assert found["metadata"]["resourceVersion"] == settled["metadata"]["resourceVersion"]


async def test_memory_that_was_lost_costs_no_data(world: World) -> None:
    """The source's fields win, and nothing that is only on the copy is removed."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
    metadata = copy["metadata"]
    lost = {"metadata": {"annotations": {"syncagent.kcp.io/last-copied": "nonsense"}}}
    place = (metadata["name"], metadata["namespace"])
    await world.service.patch(world.kind, *place, lost | {"spec": {"local": True, "size": 7}})
    async with world.agent():
        await synced(world, acme, "x", {"size": 1, "local": True})


async def test_a_deleted_copy_is_made_again(world: World) -> None:
    """Whoever deleted it: the customer's object says what there must be."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        namespace = copy["metadata"]["namespace"]
        await world.service.delete(world.kind, copy["metadata"]["name"], namespace)

        async def again() -> bool:
            found = await world.copies()
            return [one["metadata"]["uid"] for one in found] not in ([], [copy["metadata"]["uid"]])

        await eventually(again, what="a new copy")


async def test_an_object_that_is_not_ours_is_never_overwritten(world: World) -> None:
    """Event and condition tell it, and another agent's copy is as foreign as anybody's object."""
    naming = {"namespace": f"shared-{world.suffix}", "name": "{{ .Object.metadata.name }}"}
    await world.publish(naming=naming)
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": naming["namespace"]}}
    await world.service.create(NAMESPACE, manifest)
    theirs = {
        "apiVersion": world.kind.api_version,
        "kind": "Thing",
        "metadata": {"name": "x", "namespace": naming["namespace"]},
        "spec": {"theirs": True},
    }
    made = await world.service.create(world.kind, theirs)
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        for customer in (acme, beta):
            for name in ("x", "y"):
                await customer.create(world.kind, name, "default", spec={"of": customer.cluster})

        async def told() -> bool:
            seen = [await customer.events(name) for customer in (acme, beta) for name in ("x", "y")]
            return sum("NameTaken" in reasons for reasons in seen) == 3

        await eventually(told, what="three events about taken names")

        async def shown() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            conditions = ((found or {}).get("status") or {}).get("conditions") or []
            return [one["reason"] for one in conditions] == ["NameTaken"]

        await eventually(shown, what="a condition about the taken name")
        [copy] = await world.copies()
        assert copy["metadata"]["name"] == "y"
        left = await world.service.get(world.kind, "x", naming["namespace"])
        assert left is not None
        assert left["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        # And an object without a copy can be deleted, which leaves the foreign one alone.
        await acme.client.delete(world.kind, "x", "default")

        async def gone() -> bool:
            return await acme.client.get(world.kind, "x", "default") is None

        await eventually(gone, what="the end of x")
        assert await world.service.get(world.kind, "x", naming["namespace"]) is not None


async def test_two_agents_on_one_service_cluster_never_touch_each_others_copies(
    world: World,
) -> None:
    """SA#13: their copies, their finalizers and their deletions are apart."""
    await world.publish()
    async with world.agent("first"), world.agent("second"):
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})

        async def one_each() -> bool:
            found = [await world.copies(name) for name in ("first", "second")]
            return sorted(len(copies) for copies in found) == [0, 1]

        await eventually(one_each, what="one copy by the agent that was first")

        async def both_hold() -> bool:
            remote = await acme.client.get(world.kind, "x", "default")
            wanted = {finalizer_of("first"), finalizer_of("second")}
            return set((remote or {})["metadata"].get("finalizers") or []) == wanted

        await eventually(both_hold, what="two finalizers")
        await acme.client.delete(world.kind, "x", "default")

        async def gone() -> bool:
            return await acme.client.get(world.kind, "x", "default") is None

        await eventually(gone, what="the end of x")


async def test_an_edited_resource_is_synced_by_one_worker_only(world: World) -> None:
    """SA#182: the old rules end before the new ones begin; nothing else starts for an annotation."""
    name = await world.publish(
        mutation={"spec": [{"regex": {"path": "spec.by", "replacement": "old"}}]}
    )
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await synced(world, acme, "x", {"by": "old"})
        [before] = agent.manager.synchronizers
        await world.service.patch(
            PUBLISHED_RESOURCE, name, None, {"metadata": {"annotations": {"a": "b"}}}
        )
        rule = {"spec": [{"regex": {"path": "spec.by", "replacement": "new"}}]}
        await world.service.patch(PUBLISHED_RESOURCE, name, None, {"spec": {"mutation": rule}})
        await synced(world, acme, "x", {"by": "new"})
        [after] = agent.manager.synchronizers
        assert after is not before
        await world.service.patch(
            PUBLISHED_RESOURCE, name, None, {"metadata": {"annotations": {"a": "c"}}}
        )
        await acme.client.patch(world.kind, "x", "default", {"spec": {"more": 1}})
        await synced(world, acme, "x", {"by": "new", "more": 1})
        assert agent.manager.synchronizers == (after,)


async def test_a_resource_that_is_disabled_or_deleted_is_not_synced_any_more(world: World) -> None:
    """6b.F: and every object stays where it is."""
    name = await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        off = {"spec": {"synchronization": {"enabled": False}}}
        await world.service.patch(PUBLISHED_RESOURCE, name, None, off)

        async def stopped() -> bool:
            return agent.manager.synchronizers == ()

        await eventually(stopped, what="the end of syncing")
        await acme.create(world.kind, "y", "default", spec={})
        await world.service.patch(
            PUBLISHED_RESOURCE, name, None, {"spec": {"synchronization": None}}
        )
        await world.copy_of(acme, "y")
        await world.service.delete(PUBLISHED_RESOURCE, name)
        await eventually(stopped, what="the end of syncing")
        found = {one["metadata"]["uid"] for one in await world.copies()}
        assert copy["metadata"]["uid"] in found
        assert len(found) == 2


async def test_what_cannot_be_done_is_refused_with_a_condition(world: World) -> None:
    """And what ran before goes on until it can be replaced by something valid."""
    name = await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        cel = {"spec": [{"cel": {"path": "spec.x", "expression": "1"}}]}
        await world.service.patch(PUBLISHED_RESOURCE, name, None, {"spec": {"mutation": cel}})
        assert "cel" in await refused(world, name, "Unsupported")
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        await world.service.patch(PUBLISHED_RESOURCE, name, None, {"spec": {"mutation": None}})

        async def accepted() -> bool:
            return (await condition(world, name)).get("status") == "True"

        await eventually(accepted, what="an accepted resource")
        second = await world.publish("again")
        await refused(world, second, "Conflict")
        missing = await world.publish(
            "missing", resource={"apiGroup": "no.example.com", "kind": "No"}
        )
        await refused(world, missing, "DefinitionMissing")


async def test_a_settled_world_is_not_written_to(world: World) -> None:
    """On neither side, whatever is listed again."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        for number in range(10):
            await acme.create(world.kind, f"x{number}", "default", spec={"n": number})
        for number in range(10):
            copy = await world.copy_of(acme, f"x{number}")
            metadata = copy["metadata"]
            await world.service.patch(
                world.kind,
                metadata["name"],
                metadata["namespace"],
                {"status": {"phase": "Ready"}},
                subresource="status",
            )
        await settled(agent, 10)
        writes: list[str] = []
        world.double.faults.observers.append(
            lambda method, path: writes.append(f"{method} {path}") if method != "GET" else None
        )
        before = await versions(world)
        world.double.faults.strike(Blow.EXPIRED, path="/services/")
        [synchronizer] = agent.manager.synchronizers
        relists = synchronizer.relists

        async def listed() -> bool:
            return synchronizer.relists > relists

        await eventually(listed, what="another list")
        for copy in synchronizer.world.copies:
            synchronizer._copy_changed(None, copy)
        await settled(agent, 10)
        assert writes == []
        assert before == await versions(world)


async def versions(world: World) -> dict[str, str]:
    return {
        copy["metadata"]["uid"]: copy["metadata"]["resourceVersion"]
        for copy in await world.copies()
    }


async def settled(agent: Agent, count: int) -> None:
    """Wait until nothing waits, every object has its status and nothing more happens."""

    async def look() -> bool:
        [synchronizer] = agent.manager.synchronizers
        ready = [
            one
            for endpoint in synchronizer.world.endpoints.values()
            for one in endpoint.primaries
            if (one.get("status") or {}).get("phase") == "Ready"
        ]
        idle = synchronizer.queue.is_idle and agent._recorder.is_idle
        return idle and len(ready) == count

    await eventually(look, what="a settled world")
    await asyncio.sleep(0)
    await eventually(look, what="a settled world")


async def test_a_customer_never_reads_of_the_service_cluster(world: World) -> None:
    """Errors of the provider's side are told in general words only."""
    crd_rule = {"spec": [{"template": {"path": "metadata.labels.x", "template": "{{ .Value }}!!"}}]}
    await world.publish(mutation=crd_rule)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", metadata={"labels": {"x": "a"}}, spec={})

        async def told() -> str:
            try:
                listing = await acme.client.list(CORE_EVENT)
            except KubernetesError:
                return ""
            found = [one for one in listing.items if one["reason"] == "ReconcilingError"]
            return str(found[0]["message"]) if found else ""

        message = await eventually(told, what="an event")
        assert "label" not in message
        assert acme.cluster not in message
