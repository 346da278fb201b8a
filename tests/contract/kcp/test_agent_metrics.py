"""What a real process shows of its work, and that a published resource takes its series along."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_process import Process, agent
from kcp_world import World, definition, install
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from privatellm.telemetry.families import sync_agent as families
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE
from telemetry_parts import samples

pytestmark = pytest.mark.deep

Labels = frozenset[tuple[str, str]]


async def shown(process: Process) -> dict[tuple[str, Labels], float]:
    """Return every sample that is scraped, by name and labels."""
    found = samples(await process.exposition())
    return {(one.name, frozenset(one.labels.items())): one.value for one in found}


def series(name: str, **labels: str) -> tuple[str, Labels]:
    """Return what a sample is found by."""
    return name, frozenset(labels.items())


def resources(scraped: dict[tuple[str, Labels], float]) -> set[str]:
    """Return the published resources that any series is about."""
    return {value for _, labels in scraped for name, value in labels if name == "resource"}


@pytest.fixture
async def other_kind(world: World) -> AsyncIterator[Kind]:
    """A second kind in the service cluster."""
    kind = replace(world.kind, name="Other", plural="others")
    await install(world.service, definition(kind))
    yield kind
    await world.service.delete(CUSTOM_RESOURCE_DEFINITION, f"{kind.plural}.{kind.group}")


@pytest.mark.usefixtures("agent_namespace")
async def test_series_tell_of_the_work_and_vanish_with_their_published_resource(
    world: World, api_servers: Servers, tmp_path: Path, other_kind: Kind
) -> None:
    """The other one's go on, and so does the process."""
    things = await world.publish()
    others = await world.publish(
        "others", resource={"apiGroup": other_kind.group, "kind": other_kind.name}
    )
    async with agent(world, api_servers, tmp_path) as process:
        await eventually(process.state, what="a ready agent", within=60)
        await world.published(2)
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await world.copy_of(acme, "x")

        async def counted() -> bool:
            now = await shown(process)
            assert now[series(families.LEADING.name)] == 1
            assert now[series(families.PUBLISHED.name)] == 2
            assert now[series(families.ENDPOINTS.name)] == 1
            assert now[series(families.OBJECTS.name, resource=things)] == 1
            assert now[series(families.COPIES.name, resource=things)] == 1
            assert now[series(families.PASSES.name, resource=things, result="success")] >= 1
            assert now[series(f"{families.LAG.name}_count", resource=things)] >= 1
            assert now[series(f"{families.LAG.name}_sum", resource=things)] > 0
            assert now[series(families.QUEUE_OLDEST.name, resource=things)] == 0
            assert now[series(families.COPIES.name, resource=others)] == 0
            return True

        await eventually(counted, what="figures of the work")

        await world.service.delete(PUBLISHED_RESOURCE, things)

        async def vanished() -> bool:
            return resources(await shown(process)) == {others}

        await eventually(vanished, what="series of the other resource alone")
        now = await shown(process)
        assert now[series(families.PUBLISHED.name)] == 1
        assert now[series(families.LEADING.name)] == 1
        assert process.child.returncode is None
