"""Public reports about agents of this kind that no other test of ours is about, each as a promise."""

import sys
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from eventually import eventually
from kcp_world import NAMESPACE, PROVIDER, Workspace, World, definition, install
from privatellm.errors import KubernetesError
from privatellm.kube import Manifest
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from privatellm_local.kcp.access import Identity
from privatellm_local.kcp.faults import Rule
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, ENDPOINT_SLICE
from privatellm_local.kcp.labels import NO_ENDPOINT_SLICE
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine import informer
from privatellm_sync_agent.kcp.kinds import find_kind
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

pytestmark = pytest.mark.deep


async def follows(world: World, workspace: Workspace, size: int) -> Manifest:
    """Change the object ``x`` and return its copy when it has the change."""
    await workspace.client.patch(world.kind, "x", "default", {"spec": {"size": size}})

    async def look() -> Manifest | None:
        found = await world.copy_of(workspace, "x")
        return found if found["spec"].get("size") == size else None

    found = await eventually(look, what=f"size {size} in the copy")
    assert found is not None
    return found


async def test_what_is_published_later_serves_whoever_is_bound_already(world: World) -> None:
    """SA#99: the second kind learns of workspaces that came before it, and the first one goes on."""
    other = Kind(f"later.{world.group}", "v1", "Gizmo", "gizmos")
    await install(world.service, definition(other))
    await world.publish()
    async with world.agent():
        await world.published()
        customers = [await world.customer(name) for name in ("acme", "beta")]
        for customer in customers:
            await customer.create(world.kind, "x", "default", spec={"size": 1})
            await world.copy_of(customer, "x")
        await world.publish("later", resource={"apiGroup": other.group, "kind": other.name})
        await world.published(2)
        for customer in customers:
            await created(customer, other, "y")

        async def both() -> bool:
            return len((await world.service.list(other)).items) == 2

        await eventually(both, what="a copy of the second kind for each customer")
        for customer in customers:
            await follows(world, customer, 2)


async def created(workspace: Workspace, kind: Kind, name: str) -> None:
    """Create an object of a kind that has yet to reach the workspace."""

    async def create() -> bool:
        try:
            await workspace.create(kind, name, "default", spec={})
        except KubernetesError:
            return False
        return True

    await eventually(create, what=f"an API for {kind.plural}")


async def test_another_agents_resource_is_not_published(world: World) -> None:
    """SA PR#139: the selector counts, also when the definition of such a resource changes."""
    other = Kind(f"not-ours.{world.group}", "v1", "Gizmo", "gizmos")
    await install(world.service, definition(other))
    name = f"not-ours-{world.suffix}"
    manifest = {
        "apiVersion": PUBLISHED_RESOURCE.api_version,
        "kind": PUBLISHED_RESOURCE.name,
        "metadata": {"name": name},
        "spec": {"resource": {"apiGroup": other.group, "kind": other.name}},
    }
    await world.service.create(PUBLISHED_RESOURCE, manifest)
    try:
        async with world.agent():
            touched: dict[str, Any] = {"metadata": {"annotations": {"touched": "yes"}}}
            crd = f"{other.plural}.{other.group}"
            await world.service.patch(CUSTOM_RESOURCE_DEFINITION, crd, None, touched)
            await world.publish()
            await world.published()
            export = await world.provider.client.get(API_EXPORT, world.export)
            assert export is not None
            assert [one["group"] for one in export["spec"]["resources"]] == [world.group]
            found = await world.service.get(PUBLISHED_RESOURCE, name)
            assert found is not None
            assert "status" not in found
    finally:
        await world.service.delete(PUBLISHED_RESOURCE, name)


async def test_an_endpoint_that_nobody_can_reach_holds_no_other_up(world: World) -> None:
    """kcp#3830: a shard's internal address; the agent goes on, and says that it does not see everything."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        unreachable = "http://127.0.0.1:1/services/apiexport/internal/shard"
        agent.manager.set_endpoints((*agent.manager.urls, unreachable))
        await follows(world, acme, 2)
        assert not agent.is_ready
        agent.manager.set_endpoints(agent.manager.urls - {unreachable})
        assert agent.is_ready


async def test_a_shard_is_reached_under_the_host_that_the_flag_names(world: World) -> None:
    """kcp#3830: the slice tells its internal address, which means nothing where the agent runs."""
    await world.publish()
    told = urlsplit(world.double.url)
    other = f"localhost:{told.port}"
    async with world.agent(overrides=((told.netloc, other),)) as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        assert {urlsplit(url).netloc for url in agent.manager.urls} == {other}


async def test_a_deleted_endpoint_slice_stops_nothing(world: World) -> None:
    """kcp#3625: it may not come back by itself."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        before = await world.copy_of(acme, "x")
        urls = agent.manager.urls
        stays_away = {"metadata": {"annotations": {NO_ENDPOINT_SLICE: "true"}}}
        await world.provider.client.patch(API_EXPORT, world.export, None, stays_away)
        await world.provider.client.delete(ENDPOINT_SLICE, world.export)
        after = await follows(world, acme, 2)
        assert agent.manager.urls == urls
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_kind_is_known_although_discovery_leaves_its_version_out(world: World) -> None:
    """SA PR#176: an entry of a list without a version is of the list's version."""
    document = await world.service.request("GET", f"/apis/{world.group}/v1")
    assert not any(entry.get("version") for entry in document["resources"])
    found = await find_kind((world.service,), (world.group, "v1", "things"))
    assert found == world.kind


async def test_an_event_that_is_refused_at_first_is_told_again(world: World) -> None:
    """kcp#3803: right after a binding the claim on events does not hold yet."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        rule = world.double.faults.add(
            Rule(403, path="^/services/.*/events$", method="POST", times=2)
        )
        await acme.create(world.kind, "x", "default", spec={})

        async def told() -> bool:
            return "ObjectAccepted" in await acme.events("x")

        await eventually(told, what="the first event")
        assert rule.times == 0


async def test_an_agent_that_starts_without_seeing_the_workspaces_deletes_nothing(
    world: World,
) -> None:
    """kcp#2041: copies whose objects were not listed yet are no orphans."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        for name in ("x", "y"):
            await acme.create(world.kind, name, "default", spec={})
            await world.copy_of(acme, name)
    before = {copy["metadata"]["uid"] for copy in await world.copies()}
    path = rf"^/services/.*/clusters/(\*|%2A)/.*/{world.kind.plural}$"
    blind = world.double.faults.add(Rule(503, path=path, times=10_000))
    async with world.agent() as agent:

        async def looked() -> bool:
            seen = [one for one in agent.manager.synchronizers if len(one.world.copies) == 2]
            return bool(seen) and blind.times < 9_997

        await eventually(looked, what="several lists in vain")
        assert not agent.is_ready
        assert {copy["metadata"]["uid"] for copy in await world.copies()} == before
        world.double.faults.clear()
        await follows(world, acme, 2)
        assert {copy["metadata"]["uid"] for copy in await world.copies()} == before


async def test_somebody_elses_finalizer_is_neither_taken_off_nor_joined_again(world: World) -> None:
    """SA#115, SA#172: ours goes when the copy is gone, and never comes back to a dying object."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        held = {"finalizers": ["example.com/hold"]}
        await acme.create(world.kind, "x", "default", metadata=held, spec={})
        await world.copy_of(acme, "x")
        await acme.client.delete(world.kind, "x", "default")

        async def released() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            finalizers: list[str] = (found or {})["metadata"]["finalizers"]
            return finalizers == ["example.com/hold"]

        await eventually(released, what="an object that only somebody else holds")
        await acme.client.patch(world.kind, "x", "default", {"metadata": {"labels": {"a": "b"}}})
        # A second object passes through the same queue after that change.
        await acme.create(world.kind, "y", "default", spec={})
        await world.copy_of(acme, "y")
        assert await released()
        assert len(await world.copies()) == 1


async def test_a_namespace_that_was_deleted_by_mistake_comes_back_with_its_copies(
    world: World,
) -> None:
    """As soon as the old one is gone; nobody deletes anything in the workspace for that."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        name, namespace = copy["metadata"]["name"], copy["metadata"]["namespace"]
        await world.service.delete(NAMESPACE, namespace)
        await world.service.delete(world.kind, name, namespace)
        # This API server has no namespace controller, so its part is played here.
        going = await world.service.get(NAMESPACE, namespace)
        assert going is not None
        path = f"/api/v1/namespaces/{namespace}/finalize"
        await world.service.request("PUT", path, body=going | {"spec": {"finalizers": []}})

        again = await world.copy_of(acme, "x")

        assert again["metadata"]["uid"] != copy["metadata"]["uid"]
        assert again["spec"] == {"size": 1}
        assert await acme.client.get(world.kind, "x", "default") is not None


async def test_a_workspace_may_be_bound_to_two_exports(world: World) -> None:
    """Two providers with an agent each: both serve it, and what one of them loses is not the other's."""
    other = Kind(f"second.{world.group}", "v1", "Gizmo", "gizmos")
    await install(world.service, definition(other))
    await world.publish()
    second = replace(world, suffix=f"{world.suffix}-2", kind=other)
    known = world.double.tokens.identity(f"Bearer {PROVIDER}")
    assert isinstance(known, Identity)
    content_of = (*known.content_of, second.export)
    world.double.tokens.add(PROVIDER, replace(known, content_of=content_of))
    await world.provider.create(API_EXPORT, second.export, spec={})
    client = world.provider.client
    await eventually(lambda: client.get(ENDPOINT_SLICE, second.export), what="an endpoint slice")
    await second.publish()
    try:
        async with world.agent(), second.agent():
            await world.published()
            await second.published()
            acme = await world.customer()
            await second.bind(acme)
            await acme.create(world.kind, "x", "default", spec={"size": 1})
            await acme.create(other, "x", "default", spec={})
            await follows(world, acme, 2)
            kept = await second.copy_of(acme, "x")
            await acme.client.delete(API_BINDING, world.export)

            async def unbound() -> bool:
                return await acme.client.get(API_BINDING, world.export) is None

            await eventually(unbound, what="the end of the first binding")
            assert await world.copies() == ()
            assert (await second.copy_of(acme, "x"))["metadata"]["uid"] == kept["metadata"]["uid"]
            await follows(second, acme, 3)
    finally:
        for found in (
            await world.service.list(PUBLISHED_RESOURCE, labels=f"test={second.suffix}")
        ).items:
            await world.service.delete(PUBLISHED_RESOURCE, found["metadata"]["name"])


QUIET, BUSY, WORKSPACES = 40, 10, 5
ASKED_FOR: dict[str, Any] = {
    "identifier": "credentials",
    "origin": "service",
    "kind": "Secret",
    "watch": {"byOwner": {}},
    "object": {"reference": {"path": "metadata.name"}},
}
"""A Secret that is not there yet, so every pass over an object asks kcp for it and can be seen."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", [6.0, 300.0], ids=["six-seconds", "five-minutes"])
async def test_after_an_outage_only_what_changed_costs_anything(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    """A kcp that is down for five minutes: no deletes, ever fewer attempts, no herd on its return."""
    if seconds < informer.LONGEST_PAUSE:
        # The short one looks through everything again all the time, which must cost nothing either.
        monkeypatch.setattr(informer, "RELIST_SECONDS", 1.0)
    await world.publish(related=[ASKED_FOR])
    async with world.agent() as agent:
        await world.published()
        customers = [await world.customer(f"c{n}") for n in range(WORKSPACES)]
        names = [*(f"quiet-{n}" for n in range(QUIET)), *(f"busy-{n}" for n in range(BUSY))]
        of = {name: customers[index % WORKSPACES] for index, name in enumerate(names)}
        before = {name: await synced(world, of[name], name) for name in names}
        await idle(agent)
        attempts = watched(world)
        world.double.faults.go_down()
        for name in names[QUIET:]:
            metadata = before[name]["metadata"]
            body = {"status": {"phase": "Ready"}}
            place = (metadata["name"], metadata["namespace"])
            await world.service.patch(world.kind, *place, body, subresource="status")
        begin = time.monotonic()

        async def over() -> bool:
            return time.monotonic() - begin > seconds

        await eventually(over, what="the end of the outage", within=seconds + 60)
        assert set(await uids(world)) == {one["metadata"]["uid"] for one in before.values()}
        late = [at for at, _path in attempts if at > begin + seconds * 2 / 3]
        assert len(late) < len(attempts) / 3
        # In the long run each informer asks twice a minute at most, and each object four times; the client
        # sends a request that was reset twice.
        assert busiest(late) < 3 * BUSY
        in_vain = len(attempts)
        attempts.clear()
        returned = time.monotonic()
        world.double.faults.clear()

        async def reported() -> bool:
            listings = [await one.client.list(world.kind) for one in customers]
            found = [bool(item.get("status")) for one in listings for item in one.items]
            return sum(found) == BUSY

        await eventually(reported, what="what changed during the outage", within=120)
        caught_up = time.monotonic() - returned
        await idle(agent)
        assert not [path for _at, path in attempts if "/quiet-" in path]
        lists = [path for _at, path in attempts if path.endswith(f"/{world.kind.plural}")]
        assert len(lists) < BUSY
        most = busiest([at for at, _path in attempts])
        assert most < QUIET
        sys.stdout.write(
            f"{in_vain} requests in vain in {seconds:g} s; caught up {caught_up:.1f} s after it with "
            f"{len(attempts)} requests, {most} in the busiest second\n"
        )
        assert set(await uids(world)) == {one["metadata"]["uid"] for one in before.values()}


async def uids(world: World) -> list[str]:
    """Return the UIDs of all copies."""
    return [copy["metadata"]["uid"] for copy in await world.copies()]


def busiest(moments: list[float]) -> int:
    """Return how many of some moments fall into the busiest second."""
    return max((sum(at <= one < at + 1 for one in moments) for at in moments), default=0)


async def synced(world: World, workspace: Workspace, name: str) -> Manifest:
    """Create an object and return its copy."""
    await workspace.create(world.kind, name, "default", spec={})
    return await world.copy_of(workspace, name)


def watched(world: World) -> list[tuple[float, str]]:
    """Return a list that grows by every request of the agent to a virtual workspace."""
    found: list[tuple[float, str]] = []

    def note(_method: str, path: str) -> None:
        if path.startswith("/services/"):
            found.append((time.monotonic(), path))

    world.double.faults.observers.append(note)
    return found


async def idle(agent: Agent) -> None:
    """Wait until nothing waits and every event was told."""

    async def look() -> bool:
        queues = all(one.queue.is_idle for one in agent.manager.synchronizers)
        return queues and agent._recorder.is_idle

    await eventually(look, what="an agent with nothing to do")
