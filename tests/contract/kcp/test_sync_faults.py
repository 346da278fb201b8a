"""kcp breaks in every way it can; nothing is lost, nothing is deleted, and the agent catches up."""

import time
from collections.abc import AsyncIterator, Callable

import pytest

from eventually import eventually
from kcp_world import PROVIDER, Workspace, World
from privatellm_local.kcp.access import Identity
from privatellm_local.kcp.faults import Blow, Faults, Rule
from privatellm_local.kcp.kinds import API_BINDING
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine import informer

pytestmark = pytest.mark.deep

Bad = Callable[[Faults], object]


@pytest.fixture
async def running(world: World) -> AsyncIterator[tuple[World, Agent, Workspace]]:
    """A synced world with one object."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await world.copy_of(acme, "x")
        yield world, agent, acme


async def follows(world: World, acme: Workspace, size: int, within: float = 20) -> None:
    """Change the object and wait for its copy."""
    await acme.client.patch(world.kind, "x", "default", {"spec": {"size": size}})
    await arrived(world, acme, size, within)


async def arrived(world: World, acme: Workspace, size: int, within: float = 20) -> None:
    async def look() -> bool:
        return bool((await world.copy_of(acme, "x"))["spec"] == {"size": size})

    await eventually(look, what=f"size {size} in the copy", within=within)


@pytest.mark.parametrize("blow", [Blow.CUT, Blow.END, Blow.EXPIRED, Blow.ERROR])
async def test_a_watch_that_breaks_is_taken_up_again(
    running: tuple[World, Agent, Workspace], blow: Blow
) -> None:
    """Cut, ended, expired, or torn down because a schema changed: no change is lost."""
    world, _agent, acme = running
    before = await world.copy_of(acme, "x")
    assert world.double.faults.strike(blow, path="/services/") > 0
    await follows(world, acme, 2)
    after = await world.copy_of(acme, "x")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_half_open_connection_is_noticed(
    running: tuple[World, Agent, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a byte comes any more, and nobody says so."""
    monkeypatch.setattr(informer, "WATCH_SECONDS", 1)
    world, _agent, acme = running
    world.double.faults.strike(Blow.END, path="/services/")

    async def open_again() -> bool:
        return any(stream.plural == "things" for stream in world.double.faults.streams)

    await eventually(open_again, what="a new watch")
    world.double.faults.strike(Blow.FREEZE, path="/services/")
    await follows(world, acme, 2, within=30)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(401, path="/services/", times=3),
        Rule(403, path="/services/", times=3),
        Rule(429, path="/services/", times=3, retry_after=1),
        Rule(500, path="/services/", times=3),
        Rule(503, path="/services/", times=3),
        Rule(0, path="/services/", times=3),
        Rule(409, path="/services/", method="PUT", times=2),
    ],
    ids=lambda rule: f"{rule.status}-{rule.method or 'any'}",
)
async def test_a_request_that_fails_is_tried_again(
    running: tuple[World, Agent, Workspace], rule: Rule
) -> None:
    """kcp#3855: refused, throttled, broken, reset or in conflict, whatever is asked of kcp."""
    world, _agent, acme = running
    world.double.faults.add(rule)
    world.double.faults.strike(Blow.EXPIRED, path="/services/")
    await acme.create(world.kind, "y", "default", spec={})
    copy = await world.copy_of(acme, "y")
    metadata = copy["metadata"]
    body = {"status": {"phase": "Ready"}}
    place = (metadata["name"], metadata["namespace"])
    await world.service.patch(world.kind, *place, body, subresource="status")

    async def reported() -> bool:
        found = await acme.client.get(world.kind, "y", "default")
        return bool(found and found.get("status") == {"phase": "Ready"})

    await eventually(reported, what="the status of y", within=30)


async def test_an_endpoint_that_moves_is_followed(running: tuple[World, Agent, Workspace]) -> None:
    """SA#126, MP#61, MP#80: the same workspaces at another address are the same workspaces."""
    world, agent, acme = running
    before = await world.copy_of(acme, "x")
    world.double.faults.prefix = "/moved"
    world.double.registry.changed.set()
    world.double.faults.strike(Blow.CUT, path="^/services/")

    async def moved() -> bool:
        return all("/moved/" in url for url in agent.manager.urls)

    await eventually(moved, what="the new endpoint")
    await follows(world, acme, 2)
    assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == before["metadata"]["uid"]


async def test_kcp_may_be_down_for_a_while(running: tuple[World, Agent, Workspace]) -> None:
    """No deletes, no storm of requests, and everything is caught up with afterwards."""
    world, _agent, acme = running
    before = await world.copy_of(acme, "x")
    requests: list[float] = []
    world.double.faults.observers.append(lambda _method, _path: requests.append(time.monotonic()))
    world.double.faults.go_down()

    async def three_seconds() -> bool:
        return bool(requests) and time.monotonic() - requests[0] > 3

    await eventually(three_seconds, what="some requests in vain")
    # Four informers of the agent and of the publication, each with growing pauses.
    assert len(requests) < 60
    world.double.faults.clear()
    await follows(world, acme, 2, within=30)
    assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == before["metadata"]["uid"]


async def test_credentials_that_are_revoked_for_a_while_cost_nothing(
    running: tuple[World, Agent, Workspace],
) -> None:
    """Every answer is 401 until the token works again."""
    world, _agent, acme = running
    before = await world.copy_of(acme, "x")
    known = world.double.tokens.identity(f"Bearer {PROVIDER}")
    assert isinstance(known, Identity)
    world.double.tokens.revoke(PROVIDER)
    world.double.faults.strike(Blow.CUT, path="/")
    await acme.client.patch(world.kind, "x", "default", {"spec": {"size": 2}})
    refused: list[str] = []
    world.double.faults.observers.append(lambda _method, path: refused.append(path))

    async def several() -> bool:
        return len(refused) > 5

    await eventually(several, what="refused requests")
    assert (await world.copy_of(acme, "x"))["spec"] == {"size": 1}
    world.double.tokens.add(PROVIDER, known)
    await arrived(world, acme, 2, within=30)
    assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("legacy", [False, True], ids=["kcp-main", "kcp-0.32"])
async def test_an_api_without_any_binding_is_waited_for(world: World, legacy: bool) -> None:
    """kcp#3364: lists without a version and silent watches, or 404; the first binding wakes it."""
    world.double.faults.legacy_not_served = legacy
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        url = f"{world.double.url}/services/apiexport/{world.provider.cluster}/{world.export}"
        agent.manager.set_endpoints((url,))

        async def asked() -> bool:
            [synchronizer] = agent.manager.synchronizers or [None]
            return synchronizer is not None and url in synchronizer.world.endpoints

        await eventually(asked, what="a followed endpoint")
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await arrived(world, acme, 1)


async def test_the_last_binding_can_go_and_another_come(world: World) -> None:
    """Endpoints are absent in between, which is nothing to be afraid of."""
    await world.publish()
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await world.copy_of(acme, "x")
        await acme.client.delete(API_BINDING, world.export)

        async def no_endpoints() -> bool:
            return not agent.manager.urls

        await eventually(no_endpoints, what="an agent without endpoints")
        assert await world.copies() == ()
        beta = await world.customer("beta")
        await beta.create(world.kind, "x", "default", spec={"size": 2})
        await arrived(world, beta, 2)
