"""Whatever two customers write on their objects, neither ever sees or touches anything of the other's.

The provider's rules are the worst that are legal: customers choose the names of the Secrets that they get
and give, no guard and no owner is asked for, and in one of two naming rules all copies share a namespace.
"""

import base64
import json
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventually import eventually
from kcp_world import CONFIG_MAP, SECRET, Workspace, World
from privatellm.kube import Manifest
from privatellm_local.kcp.kinds import CORE_EVENT
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.naming.names import Identity, NamingRule
from privatellm_sync_agent.objects.ownership import CLUSTER, COPY, COPY_OF, Owner

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

OWN_NAMESPACES = {
    "namespace": "{{ .ClusterName }}-{{ sha3short .Object.metadata.namespace 40 }}",
    "name": "{{ .Object.metadata.name }}",
}
ONE_NAMESPACE = {
    "namespace": "shared",
    "name": "{{ .ClusterName }}-{{ sha3short .Object.metadata.namespace 8 }}-{{ .Object.metadata.name }}",
}
GIVEN: dict[str, Any] = {
    "identifier": "given",
    "origin": "service",
    "kind": "Secret",
    "cleanup": True,
    "object": {"reference": {"path": "spec.wants"}},
}
TAKEN: dict[str, Any] = {
    "identifier": "taken",
    "origin": "kcp",
    "kind": "Secret",
    "object": {"reference": {"path": "spec.gives"}},
}


@dataclass(frozen=True, slots=True)
class Order:
    """What a customer writes.

    Attributes:
        namespace: Namespace in the workspace.
        name: Name of the object.
        wants: Which Secret of the service cluster it asks for.
        gives: Name of the Secret in the workspace that it hands down.
        labels: Ordinary labels.
        forges: Which marks of the agent it claims to carry, as those of the other customer's copy.
    """

    namespace: str
    name: str
    wants: str
    gives: str
    labels: dict[str, str]
    forges: frozenset[str]


orders = st.lists(
    st.builds(
        Order,
        namespace=st.sampled_from(["default", "team"]),
        name=st.sampled_from(["x", "y", "x-y", "password"]),
        wants=st.sampled_from(["mine", "theirs", "password", "x"]),
        gives=st.sampled_from(["password", "x", "nothing"]),
        labels=st.dictionaries(st.sampled_from(["app", "team"]), st.sampled_from(["a", "b"])),
        forges=st.frozensets(st.sampled_from(["labels", "annotations", "copy", "cluster"])),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda order: (order.namespace, order.name),
)


@dataclass(slots=True)
class Customer:
    """A customer with a secret word that nobody else may ever read."""

    workspace: Workspace
    orders: list[Order]
    word: str
    written: dict[str, Manifest]

    @property
    def forms(self) -> tuple[str, str]:
        """The word as text and as Secrets hold it."""
        return self.word, base64.b64encode(self.word.encode()).decode()

    def is_in(self, *manifests: Manifest) -> bool:
        """Return whether the word can be read in one of these."""
        return any(form in json.dumps(manifests) for form in self.forms)


def local_name(rule: dict[str, str], customer: Customer, order: Order) -> str:
    """Return what the copy of an order is called; customers know the provider's rule."""
    annotations = {"kcp.io/cluster": customer.workspace.cluster}
    metadata = {"name": order.name, "namespace": order.namespace, "annotations": annotations}
    return NamingRule(rule["namespace"], rule["name"]).local_name({"metadata": metadata}).name


def forged(world: World, order: Order, other: Customer) -> dict[str, dict[str, str]]:
    """Return labels and annotations that claim to be those of the other customer's objects."""
    theirs = other.orders[0]
    identity = Identity(other.workspace.cluster, theirs.namespace, theirs.name)
    owner = Owner(world.agent_name, identity, "00000000-0000-0000-0000-000000000000")
    labels, annotations = dict(order.labels), {"note": "mine"}
    if "labels" in order.forges:
        labels |= owner.labels()
    if "annotations" in order.forges:
        annotations |= owner.annotations()
    if "copy" in order.forges:
        labels |= {COPY: "true", COPY_OF: owner.copy_mark("given")}
    if "cluster" in order.forges:
        annotations |= {"kcp.io/cluster": other.workspace.cluster}
    return {"labels": labels, "annotations": annotations}


async def order_all(world: World, rule: dict[str, str], one: Customer, other: Customer) -> None:
    """Write everything that a customer writes."""
    workspace = one.workspace
    await workspace.namespace("team")
    for namespace in ("default", "team"):
        for name in ("password", "x"):
            await workspace.create(SECRET, name, namespace, stringData={"word": one.word})
    for order in one.orders:
        wants = {
            "mine": f"{local_name(rule, one, order)}-out",
            "theirs": f"{local_name(rule, other, other.orders[0])}-out",
        }
        spec = {
            "word": one.word,
            "wants": wants.get(order.wants, order.wants),
            "gives": order.gives,
        }
        made = await workspace.create(
            world.kind, order.name, order.namespace, metadata=forged(world, order, other), spec=spec
        )
        one.written[made["metadata"]["uid"]] = made


async def copies_of(world: World, *customers: Customer) -> list[Manifest]:
    """Return the copies of these customers' orders; earlier examples may have left others."""
    clusters = {customer.workspace.cluster for customer in customers}
    found = await world.copies()
    return [copy for copy in found if copy["metadata"]["labels"][CLUSTER] in clusters]


async def serve(world: World, customers: list[Customer]) -> None:
    """Do what the provider's controller does: a Secret with the object's word beside each copy."""
    wanted = sum(len(customer.orders) for customer in customers)

    async def all_there() -> list[Manifest]:
        copies = await copies_of(world, *customers)
        return copies if len(copies) == wanted else []

    for copy in await eventually(all_there, what=f"{wanted} copies"):
        metadata = copy["metadata"]
        reference = {key: copy[key] for key in ("apiVersion", "kind")} | {
            key: metadata[key] for key in ("name", "uid")
        }
        secret = {
            "name": f"{metadata['name']}-out",
            "namespace": metadata["namespace"],
            "ownerReferences": [reference],
        }
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": secret}
        await world.service.create(
            SECRET, manifest | {"stringData": {"word": copy["spec"]["word"]}}
        )


async def settle(world: World, agent: Agent, customers: list[Customer], step: int) -> None:
    """Let every object have a pass that sees everything that is there now."""
    for customer in customers:
        for order in customer.orders:
            body = {"spec": {"step": step}}
            await customer.workspace.client.patch(world.kind, order.name, order.namespace, body)

    async def passed() -> bool:
        copies = await copies_of(world, *customers)
        seen = [copy for copy in copies if copy["spec"].get("step") == step]
        idle = all(one.queue.is_idle for one in agent.manager.synchronizers)
        return idle and len(seen) == sum(len(customer.orders) for customer in customers)

    await eventually(passed, what=f"step {step} everywhere")


async def everything(world: World, workspace: Workspace) -> list[Manifest]:
    """Return all that a customer can read."""
    kinds = (world.kind, SECRET, CONFIG_MAP, CORE_EVENT)
    return [item for kind in kinds for item in (await workspace.client.list(kind)).items]


async def assert_separate(world: World, one: Customer, other: Customer) -> None:
    """Check that a customer reads nothing of the other's and has all of her own as she wrote it."""
    seen = await everything(world, one.workspace)
    assert not other.is_in(*seen)
    things = {item["metadata"]["uid"]: item for item in seen if item["kind"] == world.kind.name}
    assert things.keys() == one.written.keys()
    for uid, written in one.written.items():
        now = things[uid]
        assert {**now["spec"], "step": 0} == {**written["spec"], "step": 0}
        wanted, found = written["metadata"], now["metadata"]
        assert found.get("labels") == wanted.get("labels")
        assert wanted["annotations"].items() <= found["annotations"].items()
    for name in ("password", "x"):
        secret = await one.workspace.client.get(SECRET, name, "default")
        assert secret is not None
        assert secret["data"]["word"] == one.forms[1]
    for copy in await copies_of(world, one, other):
        is_hers = copy["metadata"]["labels"][CLUSTER] == one.workspace.cluster
        assert one.is_in(copy) is is_hers


async def assert_served(world: World, rule: dict[str, str], one: Customer) -> None:
    """Check that a customer got what is hers, or the test would prove nothing."""
    for order in one.orders:
        if order.wants == "mine":
            name = f"{local_name(rule, one, order)}-out"
            secret = await one.workspace.client.get(SECRET, name, order.namespace)
            assert secret is not None
            assert secret["data"]["word"] == one.forms[1]


async def leave(world: World, one: Customer) -> None:
    """Let a customer delete all her orders."""
    for order in one.orders:
        await one.workspace.client.delete(world.kind, order.name, order.namespace)

    async def gone() -> bool:
        return not (await one.workspace.client.list(world.kind)).items

    await eventually(gone, what="the end of a customer's orders")


@pytest.fixture(params=[OWN_NAMESPACES, ONE_NAMESPACE], ids=["own namespaces", "one namespace"])
async def rule(world: World, request: pytest.FixtureRequest) -> dict[str, str]:
    """A published kind with a rule for names, and the worst legal rules for Secrets."""
    naming: dict[str, str] = request.param
    if "{{" not in naming["namespace"]:
        naming = naming | {"namespace": f"shared-{world.suffix}"}
    await world.publish(naming=naming, related=[GIVEN, TAKEN])
    return naming


@given(ours=orders, theirs=orders)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_no_customer_sees_or_touches_anything_of_anothers(
    world: World, rule: dict[str, str], ours: list[Order], theirs: list[Order]
) -> None:
    """Not by names, labels, forged marks or references; and one who leaves takes nothing along."""
    async with world.agent() as agent:
        await world.published()
        one, other = [
            Customer(await world.customer(), drawn, token_hex(16), {}) for drawn in (ours, theirs)
        ]
        await order_all(world, rule, one, other)
        await order_all(world, rule, other, one)
        await serve(world, [one, other])
        await settle(world, agent, [one, other], 1)
        for here, there in ((one, other), (other, one)):
            await assert_separate(world, here, there)
            await assert_served(world, rule, here)

        before = {copy["metadata"]["uid"] for copy in await copies_of(world, other)}
        await leave(world, one)
        left = await copies_of(world, one, other)
        assert {copy["metadata"]["uid"] for copy in left} == before
        await settle(world, agent, [other], 2)
        await assert_separate(world, other, Customer(one.workspace, [], one.word, {}))
        await assert_served(world, rule, other)
        await leave(world, other)
