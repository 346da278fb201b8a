"""One object there and back: what a customer writes goes down, what becomes of it comes up."""

from typing import Any

import pytest

from eventually import eventually
from kcp_world import Workspace, World, definition, install
from privatellm.errors import KubernetesError
from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.objects.ownership import LEGACY_FINALIZER, finalizer_of

pytestmark = pytest.mark.deep

Merge = dict[str, Any]


async def change(workspace: Workspace, kind: Kind, name: str, body: Merge) -> Manifest:
    return await workspace.client.patch(kind, name, "default", body)


async def change_copy(world: World, copy: Manifest, body: Merge, subresource: str = "") -> None:
    metadata = copy["metadata"]
    await world.service.patch(
        world.kind, metadata["name"], metadata["namespace"], body, subresource=subresource
    )


async def test_the_life_of_an_object(world: World) -> None:
    """It is created, changed and deleted in a workspace, and its copy follows; its status comes back."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1, "old": True})
        copy = await world.copy_of(acme, "x")
        assert copy["spec"] == {"size": 1, "old": True}

        await change(acme, world.kind, "x", {"spec": {"size": 2, "old": None}})

        async def followed() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(followed, what="the change in the copy")
        await change_copy(world, copy, {"status": {"phase": "Ready"}}, "status")

        async def reported() -> bool:
            remote = await acme.client.get(world.kind, "x", "default")
            return bool(remote and remote.get("status") == {"phase": "Ready"})

        await eventually(reported, what="the status in the workspace")
        await acme.client.delete(world.kind, "x", "default")
        await gone(acme, world.kind, "x")
        assert await world.copies() == ()
        assert {"ObjectAccepted", "ObjectPlaced", "ObjectSynced", "ObjectStatusSynced"} <= (
            await acme.events("x")
        )


async def gone(workspace: Workspace, kind: Kind, name: str, namespace: str = "default") -> None:
    async def look() -> bool:
        return await workspace.client.get(kind, name, namespace) is None

    await eventually(look, what=f"the end of {name}")


async def test_a_local_change_is_kept_while_another_field_is_updated(world: World) -> None:
    """Operators, defaults and webhooks write into copies too (kcp PR#434)."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"mine": 1, "theirs": 1})
        copy = await world.copy_of(acme, "x")
        await change_copy(world, copy, {"spec": {"theirs": 9, "defaulted": True}})
        await change(acme, world.kind, "x", {"spec": {"mine": 2}})

        async def merged() -> bool:
            spec = (await world.copy_of(acme, "x"))["spec"]
            return bool(spec == {"mine": 2, "theirs": 9, "defaulted": True})

        await eventually(merged, what="both changes")


async def test_metadata_of_control_planes_never_travels(world: World) -> None:
    """6b.K: neither when an object is created nor when it is changed, and nothing detaches the copy."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        hostile = {
            "syncagent.kcp.io/agent-name": "evil",
            "syncagent.kcp.io/remote-object-cluster": "other",
            "llm.privatellms.msp/instance": "x",
            "team": "a",
        }
        await acme.create(world.kind, "x", "default", metadata={"labels": hostile}, spec={})
        copy = await world.copy_of(acme, "x")
        labels = copy["metadata"]["labels"]
        assert labels["team"] == "a"
        assert labels["syncagent.kcp.io/agent-name"] == world.agent_name
        assert "llm.privatellms.msp/instance" not in labels
        assert "kcp.io/cluster" not in copy["metadata"]["annotations"]

        changed = {"team": None, "syncagent.kcp.io/agent-name": "evil2", "role": "db"}
        await change(acme, world.kind, "x", {"metadata": {"labels": changed}})

        async def followed() -> bool:
            found = (await world.copy_of(acme, "x"))["metadata"]["labels"]
            return "team" not in found and found["role"] == "db"

        await eventually(followed, what="the changed labels")
        [copy] = await world.copies()
        await world.service.delete(
            world.kind, copy["metadata"]["name"], copy["metadata"]["namespace"]
        )

        async def made_again() -> bool:
            found = await world.copy_of(acme, "x")
            return bool(found["metadata"]["uid"] != copy["metadata"]["uid"])

        await eventually(made_again, what="a new copy for the deleted one")


async def test_names_as_long_as_kubernetes_allows_are_synced(world: World) -> None:
    """SA#34: hashes stand in labels, the names in annotations."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        namespace, name = "n" * 63, ".".join(["x" * 62] * 4)
        await acme.namespace(namespace)
        await acme.create(world.kind, name, namespace, spec={})
        copy = await world.copy_of(acme, name)
        assert (
            copy["metadata"]["annotations"]["syncagent.kcp.io/remote-object-namespace"] == namespace
        )


async def test_equal_names_in_two_workspaces_and_namespaces_never_meet(world: World) -> None:
    """Each object has a copy of its own, and only its own status comes back."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        await acme.namespace("second")
        for number, (customer, namespace) in enumerate(
            [(acme, "default"), (acme, "second"), (beta, "default")]
        ):
            await customer.create(world.kind, "x", namespace, spec={"number": number})

        async def three() -> bool:
            return len(await world.copies()) == 3

        await eventually(three, what="three copies")
        for copy in await world.copies():
            body = {"status": {"number": copy["spec"]["number"]}}
            await change_copy(world, copy, body, "status")

        async def own() -> bool:
            seen = [
                ((await customer.client.get(world.kind, "x", namespace)) or {}).get("status")
                for customer, namespace in [(acme, "default"), (acme, "second"), (beta, "default")]
            ]
            return seen == [{"number": 0}, {"number": 1}, {"number": 2}]

        await eventually(own, what="each object's own status")


async def test_the_api_can_look_different_in_kcp(world: World) -> None:
    """Group, kind, version and scope are projected in both directions."""
    projection = {
        "group": f"new.{world.group}",
        "kind": "Gadget",
        "versions": {"v1": "v2beta1"},
        "scope": "Cluster",
    }
    await world.publish(projection=projection)
    gadget = Kind(f"new.{world.group}", "v2beta1", "Gadget", "gadgets", namespaced=False)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(gadget, "x", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        assert (copy["kind"], copy["spec"]) == ("Thing", {"size": 1})
        assert copy["metadata"]["namespace"] == acme.cluster
        await change_copy(world, copy, {"status": {"phase": "Ready"}}, "status")

        async def reported() -> bool:
            found = await acme.client.get(gadget, "x")
            return bool(found and found.get("status") == {"phase": "Ready"})

        await eventually(reported, what="the status of the gadget")
        await acme.client.delete(gadget, "x")

        async def ended() -> bool:
            return await acme.client.get(gadget, "x") is None

        await eventually(ended, what="the end of the gadget")


async def test_a_cluster_scoped_kind_can_be_namespaced_in_kcp(world: World) -> None:
    """Two customers' objects of one name get two cluster-scoped copies."""
    kind = Kind(f"cs.{world.group}", "v1", "Thing", "things", namespaced=False)
    await install(world.service, definition(kind))
    world.kind = kind
    await world.publish(projection={"scope": "Namespaced"})
    seen = Kind(kind.group, "v1", "Thing", "things")
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        for customer in (acme, beta):
            await customer.create(seen, "x", "default", spec={"of": customer.cluster})
        for customer in (acme, beta):
            assert (await world.copy_of(customer, "x"))["spec"] == {"of": customer.cluster}


async def test_a_kind_with_several_versions_is_published_with_them(world: World) -> None:
    """SA#20: an object of the older version is served and synced as well."""
    crd = definition(world.kind)
    [version] = crd["spec"]["versions"]
    crd["spec"]["versions"].append(version | {"name": "v1beta1", "storage": False})
    await install(world.service, crd)
    await world.publish()
    older = Kind(world.group, "v1beta1", "Thing", "things")
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(older, "x", "default", spec={"size": 1})
        assert (await world.copy_of(acme, "x"))["spec"] == {"size": 1}


async def test_a_kind_without_a_status_subresource_is_synced_all_the_same(world: World) -> None:
    """SA#130, SA#85: the missing subresource never blocks what can be done."""
    kind = Kind(f"ns.{world.group}", "v1", "Thing", "things")
    await install(world.service, definition(kind, status=False))
    world.kind = kind
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        await change_copy(world, copy, {"status": {"phase": "Ready"}})
        await change(acme, kind, "x", {"spec": {"size": 2}})

        async def followed() -> bool:
            return bool((await world.copy_of(acme, "x"))["spec"] == {"size": 2})

        await eventually(followed, what="the change in the copy")


async def test_only_what_the_filter_selects_is_synced(world: World) -> None:
    """By labels of the object and of its namespace in the workspace."""
    selector = {"matchLabels": {"sync": "yes"}}
    await world.publish(filter={"resource": selector, "namespace": selector})
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.namespace("chosen", sync="yes")
        labels = {"labels": {"sync": "yes"}}
        await acme.create(world.kind, "wrong-namespace", "default", metadata=labels, spec={})
        await acme.create(world.kind, "wrong-label", "chosen", spec={})
        await acme.create(world.kind, "right", "chosen", metadata=labels, spec={})
        await world.copy_of(acme, "right")
        names = {
            copy["metadata"]["annotations"]["syncagent.kcp.io/remote-object-name"]
            for copy in await world.copies()
        }
        assert names == {"right"}
        await acme.client.patch(world.kind, "wrong-label", "chosen", {"metadata": labels})
        await world.copy_of(acme, "wrong-label")


async def test_an_object_that_left_the_filter_can_still_be_deleted(world: World) -> None:
    """6b.E: upstream leaves the finalizer for ever and the copy orphaned."""
    await world.publish(filter={"resource": {"matchLabels": {"sync": "yes"}}})
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", metadata={"labels": {"sync": "yes"}}, spec={})
        await world.copy_of(acme, "x")
        await change(acme, world.kind, "x", {"metadata": {"labels": {"sync": None}}})
        await acme.client.delete(world.kind, "x", "default")
        await gone(acme, world.kind, "x")
        assert await world.copies() == ()


async def test_mutations_change_what_goes_down_and_what_comes_back(world: World) -> None:
    """6b.I: and nothing is escaped as HTML."""
    mutation = {
        "spec": [
            {
                "template": {
                    "path": "spec.text",
                    "template": "{{ .Value }} {{ .LocalObject.spec.n }}",
                }
            },
            {"delete": {"path": "spec.secret"}},
        ],
        "status": [
            {"regex": {"path": "status.host", "pattern": r"\.internal$", "replacement": ".com"}}
        ],
    }
    await world.publish(mutation=mutation)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        spec = {"text": "p&q <z>", "n": 3, "secret": "x"}
        await acme.create(world.kind, "x", "default", spec=spec)
        copy = await world.copy_of(acme, "x")
        assert copy["spec"] == {"text": "p&q <z> 3", "n": 3}
        await change_copy(world, copy, {"status": {"host": "a.internal"}}, "status")

        async def mutated() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            return bool(found and found.get("status") == {"host": "a.com"})

        await eventually(mutated, what="the mutated status")


async def test_workspace_paths_can_be_used_in_names(world: World) -> None:
    """With a claim on LogicalClusters, and noted on the copy."""
    naming = {"name": "{{ .ClusterPath | replace `:` `-` }}-{{ .Object.metadata.name }}"}
    await world.publish(enableWorkspacePaths=True, naming=naming)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        assert copy["metadata"]["name"] == f"{acme.path.replace(':', '-')}-x"
        annotations = copy["metadata"]["annotations"]
        assert annotations["syncagent.kcp.io/remote-object-workspace-path"] == acme.path


async def test_a_copy_of_upstreams_making_is_taken_over_without_being_made_again(
    world: World,
) -> None:
    """A deployment switches over: marks are added, the shared finalizer is exchanged for ours."""
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
    ours = {"syncagent.kcp.io/remote-object-uid": None, "syncagent.kcp.io/last-copied": None}
    await change_copy(world, copy, {"metadata": {"annotations": ours}})
    legacy = {"metadata": {"finalizers": [LEGACY_FINALIZER]}, "spec": {"size": 2}}
    await change(acme, world.kind, "x", legacy)
    async with world.agent():

        async def taken_over() -> bool:
            found = await world.copy_of(acme, "x")
            remote = await acme.client.get(world.kind, "x", "default")
            finalizers = (remote or {})["metadata"]["finalizers"]
            ours = [finalizer_of(world.agent_name)]
            return bool(found["spec"] == {"size": 2} and finalizers == ours)

        await eventually(taken_over, what="the takeover")
        assert (await world.copy_of(acme, "x"))["metadata"]["uid"] == copy["metadata"]["uid"]


async def test_a_changed_definition_reaches_the_customers(world: World) -> None:
    """SA PR#62: a new schema is published and a field that it adds is synced."""
    crd = definition(world.kind)
    narrow = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = narrow
    await install(world.service, crd)
    await world.publish()
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        await world.copy_of(acme, "x")
        schema["properties"]["spec"] = narrow | {
            "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}}
        }
        await install(world.service, crd)

        async def arrived() -> bool:
            try:
                await change(acme, world.kind, "x", {"spec": {"colour": "blue"}})
                spec = (await world.copy_of(acme, "x"))["spec"]
            except KubernetesError:
                return False  # An API server answers 404 and 429 while it changes a definition.
            return bool(spec == {"size": 1, "colour": "blue"})

        await eventually(arrived, what="the new field")


@pytest.mark.parametrize("name", ["{{ .Object.spec.name }}", "{{ .Object.metadata.labels.name }}"])
async def test_a_hostile_name_hurts_only_its_own_object(world: World, name: str) -> None:
    """It is refused, the customer is told so, and all others are synced."""
    await world.publish(naming={"name": name})
    async with world.agent():
        await world.published()
        acme = await world.customer()
        fine = {"metadata": {"labels": {"name": "fine"}}, "spec": {"name": "fine"}}
        await acme.create(world.kind, "bad", "default", spec={"name": "../../secrets/x"})
        await acme.create(world.kind, "fine", "default", **fine)
        await world.copy_of(acme, "fine")

        async def told() -> bool:
            return "ReconcilingError" in await acme.events("bad")

        await eventually(told, what="an event about the bad name")
        assert len(await world.copies()) == 1
