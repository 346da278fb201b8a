"""The passes over an instance on a real API server: creation, drift, conflicts, crashes, deletion."""

from typing import Any

import pytest

from eventually import eventually
from operator_passes import (
    InstanceOperator,
    catalogue_entry,
    children_of,
    order,
)
from privatellm import labels
from privatellm.errors import ConflictError, UnavailableError
from privatellm.kube import KubeClient, Manifest, PatchType, kinds
from privatellm_operator.settings import CapSettings
from token_crash import Crash, FragileClient, Moment

pytestmark = [pytest.mark.deep, pytest.mark.integration]

WRITES_OF_A_NEW_INSTANCE = 7
"""The finalizer, five children and the status."""

WRITES_OF_A_CHANGE = 4
"""The budget of disruptions, the Service, the Deployment and the status."""


async def _status(client: KubeClient, namespace: str, name: str = "chat") -> dict[str, Any]:
    found = await client.get(kinds.LLM_INSTANCE, name, namespace)
    assert found is not None
    status: dict[str, Any] = found["status"]
    return status


async def _reasons(client: KubeClient, namespace: str, name: str) -> dict[str, str]:
    """Return every condition's reason by its type."""
    conditions = (await _status(client, namespace, name))["conditions"]
    return {condition["type"]: condition["reason"] for condition in conditions}


def _cuts(writes: int) -> list[tuple[int, Moment]]:
    """Return every state in which a pass of so many writes can be cut.

    What a restarted operator finds is the same right after a write and right before the next one.
    """
    return [(0, Moment.BEFORE), *((write, Moment.AFTER) for write in range(writes))]


def _reason(status: dict[str, Any], kind: str) -> str:
    return str(next(c["reason"] for c in status["conditions"] if c["type"] == kind))


async def _settle(operator: InstanceOperator, namespace: str, name: str = "chat") -> None:
    """Do passes as the queue would, which comes back after a conflict."""
    await operator.look()
    for _ in range(3):
        try:
            await operator.without_looking(namespace, name)
        except ConflictError:
            continue
        return


async def test_an_order_is_seven_writes_and_the_second_pass_none(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str
) -> None:
    """A settled world costs nothing, also for an operator that was restarted."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    await operator.reconcile(tenant, "chat")
    assert len(fragile.writes) == WRITES_OF_A_NEW_INSTANCE
    assert (await _status(client, tenant))["phase"] == "Stopped"

    fragile.forget()
    await operator.without_looking(tenant, "chat")
    await operator.reconcile(tenant, "chat")
    assert fragile.writes == []


@pytest.mark.parametrize(
    "name", ["a.b.c", "1st", "x", "a" * 57, "b" * 63, "c" * 253, "looks-haaaaaaaaaaaa"]
)
async def test_any_name_the_api_server_takes_is_served(
    client: KubeClient, operator: InstanceOperator, tenant: str, name: str
) -> None:
    """Dots, digits and length are no reason to loop."""
    await client.create(kinds.LLM_INSTANCE, order(tenant, name))
    await operator.reconcile(tenant, name)

    assert (await _status(client, tenant, name))["phase"] == "Stopped"
    assert len(await children_of(client, tenant)) == 5


async def _break(client: KubeClient, namespace: str, kind: kinds.Kind) -> None:
    """Change what we own on a child."""
    patches: dict[kinds.Kind, Manifest] = {
        kinds.DEPLOYMENT: {"spec": {"replicas": 7}},
        kinds.SERVICE: {"spec": {"selector": {"app": "evil"}}},
        kinds.INGRESS: {"spec": {"ingressClassName": "other"}},
        kinds.NETWORK_POLICY: {"spec": {"ingress": [{}]}},
        kinds.SECRET: {"data": {"api-key": "ZXZpbA=="}},
        kinds.POD_DISRUPTION_BUDGET: {"spec": {"maxUnavailable": 2}},
    }
    name = "chat-llama-key" if kind is kinds.SECRET else "chat-llama"
    await client.patch(kind, name, namespace, patches[kind])


OWNED = (
    kinds.DEPLOYMENT,
    kinds.SERVICE,
    kinds.INGRESS,
    kinds.NETWORK_POLICY,
    kinds.SECRET,
    kinds.POD_DISRUPTION_BUDGET,
)


@pytest.mark.parametrize("kind", OWNED, ids=lambda kind: kind.name)
async def test_drift_on_every_owned_kind_is_repaired(
    client: KubeClient,
    fragile: FragileClient,
    operator: InstanceOperator,
    tenant: str,
    kind: kinds.Kind,
) -> None:
    """One write mends it, and a deleted child comes back."""
    await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=2))
    await operator.reconcile(tenant, "chat")
    before = await children_of(client, tenant)

    await _break(client, tenant, kind)
    fragile.forget()
    await operator.reconcile(tenant, "chat")
    assert await children_of(client, tenant) == before
    assert len(fragile.writes) == 1

    name = "chat-llama-key" if kind is kinds.SECRET else "chat-llama"
    await client.delete(kind, name, tenant)
    await operator.reconcile(tenant, "chat")
    after = await children_of(client, tenant)
    assert sorted(after) == sorted(before)


CONTRADICTIONS: dict[str, tuple[kinds.Kind, list[dict[str, Any]]]] = {
    "the other bound of a budget": (
        kinds.POD_DISRUPTION_BUDGET,
        [
            {"op": "remove", "path": "/spec/maxUnavailable"},
            {"op": "add", "path": "/spec/minAvailable", "value": 2},
        ],
    ),
    "another number under the name of a port": (
        kinds.SERVICE,
        [{"op": "replace", "path": "/spec/ports/0/port", "value": 9000}],
    ),
    "another source of a volume": (
        kinds.DEPLOYMENT,
        [
            {
                "op": "replace",
                "path": "/spec/template/spec/volumes/0",
                "value": {"name": "models", "hostPath": {"path": "/srv"}},
            }
        ],
    ),
}


@pytest.mark.parametrize(("kind", "patch"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
async def test_what_cannot_stand_beside_what_we_want_is_taken_away(
    client: KubeClient,
    fragile: FragileClient,
    operator: InstanceOperator,
    tenant: str,
    kind: kinds.Kind,
    patch: list[dict[str, Any]],
) -> None:
    """Applying merges the two, which the API server refuses."""
    await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=2))
    await operator.reconcile(tenant, "chat")
    before = await children_of(client, tenant)
    await client.patch(kind, "chat-llama", tenant, patch, patch_type=PatchType.JSON)
    assert await children_of(client, tenant) != before

    await operator.reconcile(tenant, "chat")
    assert await children_of(client, tenant) == before

    fragile.forget()
    await operator.reconcile(tenant, "chat")
    assert fragile.writes == []


async def test_foreign_metadata_stays_and_smuggled_routing_goes(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """A tenant's note on a child is the tenant's; the route is ours."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    notes = {"team": "blue", "traefik.ingress.kubernetes.io/router.priority": "1000"}
    patch = {"metadata": {"annotations": notes, "labels": {"team": "blue"}}}
    await client.patch(kinds.INGRESS, "chat-llama", tenant, patch)

    await operator.reconcile(tenant, "chat")

    ingress = await client.get(kinds.INGRESS, "chat-llama", tenant)
    assert ingress is not None
    assert ingress["metadata"]["labels"]["team"] == "blue"
    assert ingress["metadata"]["annotations"]["team"] == "blue"
    assert "traefik.ingress.kubernetes.io/router.priority" not in ingress["metadata"]["annotations"]


async def test_a_stripped_label_does_not_make_a_child_foreign(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Out of the watch's sight, but still ours by its owner."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    stripped = {"metadata": {"labels": {labels.MANAGED_BY: None}}}
    await client.patch(kinds.SERVICE, "chat-llama", tenant, stripped)

    await _settle(operator, tenant)

    service = await client.get(kinds.SERVICE, "chat-llama", tenant)
    assert service is not None
    assert service["metadata"]["labels"][labels.MANAGED_BY] == labels.MANAGED_BY_OPERATOR


async def test_an_object_of_somebody_else_is_never_adopted(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Not even when nothing of it is known before the write; and the name is used once it is free."""
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "chat-llama", "namespace": tenant},
        "spec": {"ports": [{"port": 80}]},
    }
    before = await client.create(kinds.SERVICE, foreign)
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    await _settle(operator, tenant)

    status = await _status(client, tenant)
    assert (status["phase"], _reason(status, "Accepted")) == ("Failed", "ChildConflict")
    after = await client.get(kinds.SERVICE, "chat-llama", tenant)
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]

    await _settle(operator, tenant)
    assert _reason(await _status(client, tenant), "Accepted") == "ChildConflict"

    await client.delete(kinds.SERVICE, "chat-llama", tenant)
    await operator.without_looking(tenant, "chat")
    assert (await _status(client, tenant))["phase"] == "Stopped"


async def test_an_instance_created_anew_does_not_take_over_the_old_ones_children(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """It waits until the garbage collector has removed them, and gets another address."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    slug = (await _status(client, tenant))["slug"]
    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)
    await operator.reconcile(tenant, "chat")
    await client.create(kinds.LLM_INSTANCE, order(tenant))

    async def stopped() -> bool:
        await _settle(operator, tenant)
        return bool((await _status(client, tenant))["phase"] == "Stopped")

    await eventually(stopped, within=60, what="the new instance")
    assert (await _status(client, tenant))["slug"] != slug


async def test_an_unknown_model_is_told_and_healed_by_its_arrival(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Condition, event, no child; then everything once the catalogue has it."""
    name = f"late-{tenant}"
    await client.create(kinds.LLM_INSTANCE, order(tenant, model=name))
    await operator.reconcile(tenant, "chat")

    status = await _status(client, tenant)
    assert (status["phase"], _reason(status, "Accepted")) == ("Failed", "UnknownModel")
    assert await children_of(client, tenant) == {}
    events = await client.list(kinds.EVENT, tenant)
    assert [(e["reason"], e["type"]) for e in events.items] == [("UnknownModel", "Warning")]

    await client.create(kinds.LLM_MODEL, catalogue_entry(name))
    await operator.reconcile(tenant, "chat")
    assert (await _status(client, tenant))["phase"] == "Stopped"
    await client.delete(kinds.LLM_MODEL, name)


async def test_a_wrong_change_leaves_what_runs_alone(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str
) -> None:
    """Only the status says that the new order cannot be fulfilled."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    before = await children_of(client, tenant)
    await client.patch(kinds.LLM_INSTANCE, "chat", tenant, {"spec": {"model": "gpt-9"}})

    await operator.reconcile(tenant, "chat")

    assert await children_of(client, tenant) == before
    assert (await _status(client, tenant))["phase"] == "Failed"


async def test_replicas_belong_to_whoever_scales_the_instance(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str
) -> None:
    """An autoscaler writes the scale subresource; the operator follows and never writes the spec."""
    await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=1))
    await operator.reconcile(tenant, "chat")
    path = kinds.LLM_INSTANCE.path(tenant, "chat", "scale")
    for replicas in (4, 2):
        scale = await client.request("GET", path)
        await client.request("PUT", path, body=scale | {"spec": {"replicas": replicas}})
        await operator.reconcile(tenant, "chat")
        deployment = await client.get(kinds.DEPLOYMENT, "chat-llama", tenant)
        assert deployment is not None
        assert deployment["spec"]["replicas"] == replicas

    fragile.forget()
    await operator.reconcile(tenant, "chat")
    assert fragile.writes == []
    found = await client.get(kinds.LLM_INSTANCE, "chat", tenant)
    assert found is not None
    fields = found["metadata"]["managedFields"]
    ours = [entry["fieldsV1"] for entry in fields if entry["manager"] == labels.FIELD_MANAGER]
    assert ours
    assert all("f:spec" not in entry for entry in ours)


async def test_an_instance_beyond_the_quota_waits_for_room(
    client: KubeClient, fragile: FragileClient, tenant: str, system: str
) -> None:
    """The older one keeps its place; the younger one says why, and is served when the older one goes."""
    operator = InstanceOperator(fragile, system, caps=CapSettings(max_instances=1))
    await operator.equip()
    await client.create(kinds.LLM_INSTANCE, order(tenant, "a-first"))
    await operator.reconcile(tenant, "a-first")
    await client.create(kinds.LLM_INSTANCE, order(tenant, "b-second"))
    again = await operator.reconcile(tenant, "b-second")

    assert again is not None
    assert _reason(await _status(client, tenant, "b-second"), "Accepted") == "QuotaExceeded"
    assert (await _status(client, tenant, "a-first"))["phase"] == "Stopped"

    await client.delete(kinds.LLM_INSTANCE, "a-first", tenant)
    await operator.reconcile(tenant, "a-first")
    await operator.reconcile(tenant, "b-second")
    assert (await _status(client, tenant, "b-second"))["phase"] == "Stopped"


async def test_keys_end_before_an_instance_disappears(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """While they cannot be ended, the instance stays."""
    created = await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)

    operator.revocations.failure = UnavailableError("the API server is gone")
    with pytest.raises(UnavailableError):
        await operator.reconcile(tenant, "chat")
    assert await client.get(kinds.LLM_INSTANCE, "chat", tenant) is not None

    operator.revocations.failure = None
    await operator.reconcile(tenant, "chat")
    assert operator.revocations.ended == [created["metadata"]["uid"]]
    assert await client.get(kinds.LLM_INSTANCE, "chat", tenant) is None

    async def gone() -> bool:
        return await children_of(client, tenant) == {}

    await eventually(gone, within=60, what="garbage collection of the children")


async def test_somebody_elses_finalizer_shows_as_terminating(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Our part is done, and the phase says what is going on."""
    held = order(tenant)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(kinds.LLM_INSTANCE, held)
    await operator.reconcile(tenant, "chat")
    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)

    await operator.reconcile(tenant, "chat")

    assert (await _status(client, tenant))["phase"] == "Terminating"
    await client.patch(kinds.LLM_INSTANCE, "chat", tenant, {"metadata": {"finalizers": []}})


async def test_a_creation_that_is_cut_anywhere_ends_in_the_same_world(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str, system: str
) -> None:
    """The process ends around each write; the next one finishes."""
    await client.create(kinds.LLM_INSTANCE, order(tenant, "whole"))
    await operator.reconcile(tenant, "whole")
    whole = await _reasons(client, tenant, "whole")

    for number, (write, moment) in enumerate(_cuts(WRITES_OF_A_NEW_INSTANCE)):
        name = f"cut-{number}"
        await client.create(kinds.LLM_INSTANCE, order(tenant, name))
        await operator.look()
        fragile.die_at(write, moment)
        with pytest.raises(Crash):
            await operator.without_looking(tenant, name)
        fragile.forget()
        operator = InstanceOperator(fragile, system)
        await _settle(operator, tenant, name)

        assert await _reasons(client, tenant, name) == whole, f"cut {moment.name} write {write}"
        fragile.forget()
        await operator.reconcile(tenant, name)
        assert fragile.writes == []
    assert len(await children_of(client, tenant)) == 5 * (number + 2)


async def test_a_change_that_is_cut_anywhere_ends_in_the_same_world(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str, system: str
) -> None:
    """A child that is gone, another one that is new, drift and a new status, cut around each write."""
    for number, (write, moment) in enumerate(_cuts(WRITES_OF_A_CHANGE)):
        name = f"cut-{number}"
        await client.create(kinds.LLM_INSTANCE, order(tenant, name))
        await operator.reconcile(tenant, name)
        await client.delete(kinds.SERVICE, f"{name}-llama", tenant)
        await client.patch(kinds.LLM_INSTANCE, name, tenant, {"spec": {"replicas": 2}})

        fragile.die_at(write, moment)
        with pytest.raises(Crash):
            await operator.reconcile(tenant, name)
        fragile.forget()
        operator = InstanceOperator(fragile, system)
        await _settle(operator, tenant, name)

        deployment = await client.get(kinds.DEPLOYMENT, f"{name}-llama", tenant)
        assert deployment is not None
        assert deployment["spec"]["replicas"] == 2
        assert (await _status(client, tenant, name))["ready"] == "0/2"
    assert len(await children_of(client, tenant)) == 6 * (number + 1)


@pytest.mark.parametrize("moment", Moment)
async def test_a_deletion_that_is_cut_ends_all_the_same(
    client: KubeClient,
    fragile: FragileClient,
    operator: InstanceOperator,
    tenant: str,
    system: str,
    moment: Moment,
) -> None:
    """The finalizer is the only write of a deletion."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)

    fragile.die_at(0, moment)
    with pytest.raises(Crash):
        await operator.reconcile(tenant, "chat")
    fragile.forget()
    await InstanceOperator(fragile, system).reconcile(tenant, "chat")

    assert await client.get(kinds.LLM_INSTANCE, "chat", tenant) is None
