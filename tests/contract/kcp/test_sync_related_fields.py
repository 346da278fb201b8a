"""Related objects in whole: their status, their namespaces, and originals that are named no more."""

from typing import Any

import pytest

from eventually import eventually
from kcp_secrets import encoded
from kcp_world import CONFIG_MAP, NAMESPACE, SECRET, Workspace, World, definition, install
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind

pytestmark = pytest.mark.deep


async def gadgets(world: World) -> Kind:
    """Publish the schema of a second kind with a status, whose objects are related ones only."""
    kind = Kind(f"related.{world.group}", "v1", "Gadget", "gadgets")
    await install(world.service, definition(kind))
    resource = {"apiGroup": kind.group, "kind": kind.name}
    await world.publish("gadgets", resource=resource, synchronization={"enabled": False})
    return kind


def rule(kind: Kind, origin: str, **fields: Any) -> dict[str, Any]:
    """Return a rule for the gadget that has the name of the object."""
    named = {"identifier": "gadget", "origin": origin, "group": kind.group}
    named |= {"version": kind.version, "resource": kind.plural}
    return named | {"object": {"template": {"template": "{{ .Object.metadata.name }}"}}} | fields


async def synced(world: World, workspace: Workspace) -> Manifest:
    """Create an object and return its copy."""
    await workspace.create(world.kind, "x", "default", spec={})
    return await world.copy_of(workspace, "x")


async def gadget(
    client: KubeClient, kind: Kind, name: str, namespace: str, **expected: Any
) -> Manifest:
    """Return a gadget as soon as it has these fields."""

    async def look() -> Manifest | None:
        found = await client.get(kind, name, namespace)
        return found if found and all(found.get(k) == v for k, v in expected.items()) else None

    found = await eventually(look, what=f"the gadget {namespace}/{name} with {expected}")
    assert found is not None
    return found


async def test_the_status_of_a_related_object_goes_up_where_that_is_asked_for(
    world: World,
) -> None:
    """SA#173: by ``syncStatus``, after the rules for the status, and again when it changes."""
    kind = await gadgets(world)
    hides = {"status": [{"delete": {"path": "status.node"}}]}
    by_label = {"bySelector": {"matchLabels": {"gadget": "yes"}}}
    await world.publish(
        related=[rule(kind, "service", syncStatus=True, watch=by_label, mutation=hides)]
    )
    async with world.agent():
        await world.published(2)
        acme = await world.customer()
        copy = await synced(world, acme)
        place = (copy["metadata"]["name"], copy["metadata"]["namespace"])
        metadata = {"name": place[0], "namespace": place[1], "labels": {"gadget": "yes"}}
        typed = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        await world.service.create(kind, typed | {"spec": {"size": 1}})
        for phase in ("Pending", "Ready"):
            body = {"status": {"phase": phase, "node": "secret-of-the-provider"}}
            await world.service.patch(kind, *place, body, subresource="status")
            seen = {"spec": {"size": 1}, "status": {"phase": phase}}
            await gadget(acme.client, kind, "x", "default", **seen)


async def test_the_status_of_a_customers_original_comes_back(world: World) -> None:
    """As with the object itself: what the service cluster says of the copy, whatever a customer wrote."""
    kind = await gadgets(world)
    await world.publish(related=[rule(kind, "kcp")])
    async with world.agent():
        await world.published(2)
        acme = await world.customer()
        copy = await synced(world, acme)
        place = (copy["metadata"]["name"], copy["metadata"]["namespace"])
        await acme.create(kind, "x", "default", spec={"size": 1})
        forged = {"status": {"phase": "Forged"}}
        await acme.client.patch(kind, "x", "default", forged, subresource="status")
        below = await gadget(world.service, kind, *place, spec={"size": 1})
        assert "status" not in below
        body = {"status": {"phase": "Ready"}}
        await world.service.patch(kind, *place, body, subresource="status")
        await gadget(acme.client, kind, "x", "default", **body)


async def test_a_status_that_cannot_be_written_holds_nothing_up(world: World) -> None:
    """SA#85: a Secret has no status; one that somebody invents for it is not even there."""
    related = rule(SECRET, "service", syncStatus=True, watch={"byOwner": {}})
    await world.publish(related=[{**related, "group": "", "version": "v1"}])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        copy = await synced(world, acme)
        owner = {k: copy["metadata"][k] for k in ("name", "uid")}
        owner |= {"apiVersion": world.kind.api_version, "kind": world.kind.name}
        metadata = {k: copy["metadata"][k] for k in ("name", "namespace")}
        typed: Manifest = {"apiVersion": "v1", "kind": "Secret", "data": encoded(key="one")}
        await world.service.create(
            SECRET, typed | {"metadata": metadata | {"ownerReferences": [owner]}}
        )
        await gadget(acme.client, SECRET, "x", "default", data=encoded(key="one"))


async def test_selected_namespaces_are_looked_through(world: World) -> None:
    """Each original reaches its namespace's counterpart, which is made; others' namespaces stay closed."""
    related = {
        "identifier": "settings",
        "origin": "service",
        "version": "v1",
        "resource": "configmaps",
        "watch": {"bySelector": {"matchLabels": {"settings": "yes"}}},
        "object": {
            "selector": {
                "matchLabels": {"settings": "yes"},
                "rewrite": {"template": {"template": "{{ .Value }}"}},
            },
            "namespace": {
                "selector": {
                    "matchLabels": {"serves": "{{ .ClusterName }}"},
                    "rewrite": {"regex": {"pattern": "^.*-", "replacement": "from-"}},
                }
            },
        },
    }
    await world.publish(related=[related])
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        await synced(world, acme)
        betas = (await synced(world, beta))["metadata"]["namespace"]
        # A hand that slipped: the label that serves one customer is on another one's namespace.
        slipped = {"metadata": {"labels": {"serves": acme.cluster}}}
        await world.service.patch(NAMESPACE, betas, None, slipped)
        for name in (f"{world.suffix}-one", f"{world.suffix}-two"):
            labels = {"serves": acme.cluster}
            manifest: Manifest = {"apiVersion": "v1", "kind": "Namespace"}
            manifest |= {"metadata": {"name": name, "labels": labels}}
            await world.service.create(NAMESPACE, manifest)
        for namespace in (betas, f"{world.suffix}-one", f"{world.suffix}-two"):
            metadata = {"name": "c", "namespace": namespace, "labels": {"settings": "yes"}}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            await world.service.create(CONFIG_MAP, manifest | {"data": {"of": namespace}})

        async def both() -> bool:
            found = {
                (one["metadata"]["namespace"], one["data"]["of"])
                for one in (await acme.client.list(CONFIG_MAP)).items
            }
            expected = {
                ("from-one", f"{world.suffix}-one"),
                ("from-two", f"{world.suffix}-two"),
            }
            return found == expected

        await eventually(both, what="the settings of both namespaces, and nobody else's")
        assert (await beta.client.list(CONFIG_MAP)).items == ()


async def test_nothing_is_put_into_another_customers_namespace(world: World) -> None:
    """A rule that lets the object name the place below cannot lead to another workspace's."""
    related = {
        "identifier": "password",
        "origin": "kcp",
        "kind": "Secret",
        "object": {
            "template": {"template": "pw"},
            "namespace": {
                "template": {
                    "template": "{{ if eq .Side `kcp` }}default{{ else }}{{ .Object.spec.in }}{{ end }}"
                }
            },
        },
    }
    await world.publish(related=[related])
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        own = f"{world.suffix}-own"
        await acme.create(SECRET, "pw", "default", data=encoded(password="one"))
        await acme.create(world.kind, "x", "default", spec={"in": own})
        await gadget(world.service, SECRET, "pw", own, data=encoded(password="one"))
        await beta.create(world.kind, "x", "default", spec={"in": "elsewhere"})
        betas = (await world.copy_of(beta, "x"))["metadata"]["namespace"]
        await acme.client.patch(world.kind, "x", "default", {"spec": {"in": betas}})

        async def taken_back() -> bool:
            return await world.service.get(SECRET, "pw", own) is None

        await eventually(taken_back, what="the end of the password in the old place")
        assert await world.service.get(SECRET, "pw", betas) is None


async def test_an_original_that_is_named_no_more_is_let_go(world: World) -> None:
    """SA#116: its copy goes and our finalizer with it, also after a restart that forgot everything."""
    down = {
        "identifier": "password",
        "origin": "kcp",
        "kind": "Secret",
        "object": {"reference": {"path": "spec.passwordSecret"}},
    }
    await world.publish(related=[down])
    acme = None
    async with world.agent():
        await world.published()
        acme = await world.customer()
        for name in ("one", "two", "three"):
            await acme.create(SECRET, name, "default", data=encoded(password=name))
        await acme.create(world.kind, "x", "default", spec={"passwordSecret": "one"})
        namespace = (await world.copy_of(acme, "x"))["metadata"]["namespace"]
        await gadget(world.service, SECRET, "one", namespace, data=encoded(password="one"))
        await acme.client.patch(world.kind, "x", "default", {"spec": {"passwordSecret": "two"}})
        await gadget(world.service, SECRET, "two", namespace, data=encoded(password="two"))
        await free(acme, "one")
        assert await world.service.get(SECRET, "one", namespace) is None
    # While no agent runs, the customer names another one.
    await acme.client.patch(world.kind, "x", "default", {"spec": {"passwordSecret": "three"}})
    async with world.agent():
        await gadget(world.service, SECRET, "three", namespace, data=encoded(password="three"))
        await free(acme, "two")
        assert await world.service.get(SECRET, "two", namespace) is None


async def free(workspace: Workspace, name: str) -> None:
    """Wait until nobody holds a customer's Secret."""

    async def look() -> bool:
        found = await workspace.client.get(SECRET, name, "default")
        return found is not None and not found["metadata"].get("finalizers")

    await eventually(look, what=f"a Secret {name} that nobody holds")
