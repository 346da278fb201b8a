"""Related objects when something is odd: other kinds, equal names, other namespaces, failing reads."""

from typing import Any

import pytest

from eventually import eventually
from kcp_secrets import encoded, give_secret, secret_of
from kcp_world import CONFIG_MAP, SECRET, World, definition, install
from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_local.kcp.faults import Rule

pytestmark = pytest.mark.deep

UP: dict[str, Any] = {
    "identifier": "credentials",
    "origin": "service",
    "kind": "Secret",
    "cleanup": True,
    "watch": {"byOwner": {}},
    "object": {"reference": {"path": "status.secret"}},
}


async def own_secret(world: World, owner: Manifest, name: str) -> None:
    """Make a Secret that belongs to an object of the service cluster."""
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
        key: owner["metadata"][key] for key in ("name", "uid")
    }
    namespace = owner["metadata"]["namespace"]
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [reference]}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    await world.service.create(SECRET, manifest | {"data": encoded(of=name)})


async def test_a_secret_of_another_published_kind_stays_where_it_is(world: World) -> None:
    """An object of one kind cannot ask for what belongs to a customer's object of another one."""
    other = Kind(world.group, "v1", "Gizmo", "gizmos")
    await install(world.service, definition(other))
    naming = {"namespace": f"shared-{world.suffix}"}
    wanted = {key: UP[key] for key in ("identifier", "origin", "kind", "cleanup")}
    wanted |= {"object": {"reference": {"path": "spec.wanted"}}}
    await world.publish(naming=naming)
    resource = {"apiGroup": other.group, "kind": other.name}
    await world.publish("gizmos", resource=resource, naming=naming, related=[wanted])
    async with world.agent():
        await world.published(2)
        acme, mallory = await world.customer("acme"), await world.customer("mallory")
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await own_secret(world, copy, "acmes")
        # What belongs to none of them shows that there was a pass.
        place = {"name": "bystander", "namespace": naming["namespace"]}
        typed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place}
        await own_secret(world, await world.service.create(CONFIG_MAP, typed), "anybodys")

        await mallory.create(other, "m", "default", spec={"wanted": ["acmes", "anybodys"]})

        await secret_of(mallory, "anybodys", of="anybodys")
        names = [one["metadata"]["name"] for one in (await mallory.client.list(SECRET)).items]
        assert names == ["anybodys"]


async def test_an_object_and_its_secret_may_have_one_name(world: World) -> None:
    """6b.B: upstream remembered both under one key and mixed up what it had copied."""
    down = {
        "identifier": "password",
        "origin": "kcp",
        "kind": "Secret",
        "object": {"reference": {"path": "metadata.name"}},
    }
    naming = {"name": "{{ .Object.metadata.name }}"}
    await world.publish(naming=naming, related=[down])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(SECRET, "x", "default", data=encoded(a="1", b="1"))
        await acme.create(world.kind, "x", "default", spec={"a": 1, "b": 1})
        namespace = (await world.copy_of(acme, "x"))["metadata"]["namespace"]

        async def both(spec: dict[str, int], data: dict[str, str]) -> bool:
            secret = await world.service.get(SECRET, "x", namespace)
            copy = await world.copy_of(acme, "x")
            return bool(copy["spec"] == spec and secret and secret["data"] == data)

        await eventually(lambda: both({"a": 1, "b": 1}, encoded(a="1", b="1")), what="two copies")
        await acme.client.patch(world.kind, "x", "default", {"spec": {"a": None, "b": 2}})
        await eventually(lambda: both({"b": 2}, encoded(a="1", b="1")), what="the object alone")
        changed: dict[str, Any] = {"data": {"b": None} | encoded(a="2")}
        await acme.client.patch(SECRET, "x", "default", changed)
        await eventually(lambda: both({"b": 2}, encoded(a="2")), what="the Secret alone")


async def test_a_read_that_fails_is_not_an_absence(world: World) -> None:
    """6b.D: the copy that could not be read is neither made again nor replaced."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one"))
        before = await secret_of(acme, "s", key="one")
        path = "^/services/.*/namespaces/default/secrets/s$"
        rule = world.double.faults.add(Rule(500, path=path, method="GET", times=3))
        writes: list[str] = []
        world.double.faults.observers.append(
            lambda method, path: writes.append(method) if path.endswith("/secrets") else None
        )
        body = {"data": encoded(key="two")}
        await world.service.patch(SECRET, "s", copy["metadata"]["namespace"], body)

        after = await secret_of(acme, "s", key="two")

        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert rule.times == 0
        assert "POST" not in writes


async def test_a_secret_goes_up_into_a_namespace_of_its_own(world: World) -> None:
    """SA#41: the namespace is made in the workspace, and says that it is the provider's."""
    template = "{{ if eq .Side `kcp` }}keys{{ else }}{{ .Object.metadata.namespace }}{{ end }}"
    place = UP["object"] | {"namespace": {"template": {"template": template}}}
    await world.publish(related=[UP | {"object": place}])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="one"))
        await secret_of(acme, "s", "keys", key="one")
        await acme.client.delete(world.kind, "x", "default")

        async def gone() -> bool:
            return await acme.client.get(SECRET, "s", "keys") is None

        await eventually(gone, what="the end of the Secret")
