"""Onboarding: the provider's grants hold in the namespaces that the agent makes, and nowhere else."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from eventually import eventually
from kcp_clusters import Servers
from kcp_rights import documented_role, limited
from kcp_world import NAMESPACE, World, gone
from privatellm.kube import Manifest
from privatellm.kube.kinds import CLUSTER_ROLE, ROLE_BINDING
from privatellm_sync_agent.engine import synchronizer

pytestmark = pytest.mark.deep

SUBJECT = {"kind": "ServiceAccount", "name": "operator", "namespace": "default"}


def annotation(role: str) -> dict[str, str]:
    """Return the annotation that grants a role."""
    grant = {"clusterRole": role, "serviceAccount": "default/operator"}
    return {"onboard.syncagent.kcp.io/operator": json.dumps(grant)}


def rules(role: str) -> list[dict[str, Any]]:
    """Return the rights that the page asks for when something is granted, for a role of the test's."""
    found: list[dict[str, Any]] = documented_role(2)["rules"]
    for rule in found:
        if "resourceNames" in rule:
            rule["resourceNames"] = [role]
    return found


@pytest.fixture
async def role(world: World) -> AsyncIterator[str]:
    """A ClusterRole that the provider grants."""
    name = f"tenant-{world.suffix}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    manifest = {
        "apiVersion": CLUSTER_ROLE.api_version,
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [rule],
    }
    await world.service.create(CLUSTER_ROLE, manifest)
    yield name
    await world.service.delete(CLUSTER_ROLE, name)


async def bindings(world: World, namespace: str) -> dict[str, Manifest]:
    """Return the RoleBindings of a namespace by their names."""
    listing = await world.service.list(ROLE_BINDING, namespace)
    return {one["metadata"]["name"]: one for one in listing.items}


async def test_a_grant_holds_in_a_namespace_that_the_agent_made(
    world: World, api_servers: Servers, role: str
) -> None:
    """The documented rights are enough for it, it comes before the copy, and it comes back at a restart."""
    await world.publish(annotations=annotation(role))
    client = await limited(world, api_servers, rules(role))
    async with client:
        async with world.agent(service=client):
            await world.published()
            acme = await world.customer()
            await acme.create(world.kind, "x", "default", spec={})
            copy = await world.copy_of(acme, "x")
            (binding,) = (await bindings(world, acme.cluster)).values()
            assert binding["roleRef"]["name"] == role
            assert binding["subjects"] == [SUBJECT]
            assert copy["metadata"]["creationTimestamp"] >= binding["metadata"]["creationTimestamp"]
        await world.service.delete(ROLE_BINDING, role, acme.cluster)
        async with world.agent(service=client):

            async def back() -> bool:
                return role in await bindings(world, acme.cluster)

            await eventually(back, what="the binding after a restart")


async def test_a_grant_that_was_taken_away_comes_back(
    world: World, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the agent runs, and although nothing about any object changes."""
    monkeypatch.setattr(synchronizer, "GRANTS_SECONDS", 0.5)
    await world.publish(annotations=annotation(role))
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        await world.service.delete(ROLE_BINDING, role, acme.cluster)

        async def back() -> bool:
            return role in await bindings(world, acme.cluster)

        await eventually(back, what="the binding")


async def test_nothing_is_granted_in_a_namespace_that_somebody_else_made(
    world: World, role: str
) -> None:
    """Its rights are that person's to give; the copy is made as always."""
    await world.publish(annotations=annotation(role))
    async with world.agent():
        await world.published()
        acme = await world.customer()
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": acme.cluster}}
        await world.service.create(NAMESPACE, made)
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        assert await bindings(world, acme.cluster) == {}


async def test_the_agent_cannot_grant_more_than_it_may_bind(
    world: World, api_servers: Servers, role: str
) -> None:
    """A PublishedResource that asks for another role gets neither a binding nor a copy."""
    await world.publish(annotations=annotation("cluster-admin"))
    client = await limited(world, api_servers, rules(role))
    async with client, world.agent(service=client):
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})

        async def told() -> bool:
            return "ReconcilingError" in await acme.events("x")

        await eventually(told, what="the event of a refused pass")
        assert await bindings(world, acme.cluster) == {}
        assert await world.copies() == ()


async def test_a_grant_keeps_no_namespace_alive(world: World, role: str) -> None:
    """A namespace that holds nothing but the agent's own binding is empty."""
    await world.publish(annotations=annotation(role))
    async with world.agent() as agent:
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await world.copy_of(acme, "x")
        await gone(world, acme, agent)
        for _ in range(3):
            await agent.namespaces.sweep()
        found = await world.service.get(NAMESPACE, acme.cluster)
        assert found is None or "deletionTimestamp" in found["metadata"]
