"""Related objects: the Secret with a key reaches its customer, and nobody else."""

from typing import Any

import pytest

from eventually import eventually
from kcp_secrets import encoded, give_secret, no_secret, secret_of
from kcp_world import CONFIG_MAP, SECRET, Workspace, World
from privatellm_local.kcp.kinds import API_BINDING, CORE_EVENT
from privatellm_sync_agent.engine import work
from privatellm_sync_agent.engine.deletion import SOME_LEFT
from privatellm_sync_agent.engine.obstacles import SYNCED

pytestmark = pytest.mark.deep

UP: dict[str, Any] = {
    "identifier": "credentials",
    "origin": "service",
    "kind": "Secret",
    "cleanup": True,
    "watch": {"byOwner": {}},
    "object": {"reference": {"path": "status.secret"}},
}
DOWN: dict[str, Any] = {
    "identifier": "password",
    "origin": "kcp",
    "kind": "Secret",
    "object": {"reference": {"path": "spec.passwordSecret"}},
}
ANNOTATION = "related-resources.syncagent.kcp.io/credentials.0"


async def test_a_secret_follows_its_original_to_its_very_end(world: World) -> None:
    """SA#118, SA#114, 6b.H: it appears, changes, is repaired and vanishes with the original."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one", old="1"))
        seen = await secret_of(acme, "s", key="one", old="1")
        place = ("s", copy["metadata"]["namespace"])

        # SA#35: nothing of the provider's side is on it.
        assert seen["metadata"]["labels"]["app"] == "x"
        assert "llm.privatellms.msp/internal" not in seen["metadata"]["labels"]
        assert copy["metadata"]["uid"] not in str(seen["metadata"])
        assert world.agent_name not in str(seen["metadata"])
        assert encoded(key="one")["key"] not in str(seen["metadata"])
        remote = await acme.client.get(world.kind, "x", "default")
        assert remote is not None
        assert '"name":"s"' in remote["metadata"]["annotations"][ANNOTATION]

        await world.service.patch(SECRET, *place, {"data": encoded(key="two") | {"old": None}})
        await secret_of(acme, "s", key="two")

        await acme.client.patch(SECRET, "s", "default", {"data": encoded(key="forged")})
        await secret_of(acme, "s", key="two")
        await acme.client.delete(SECRET, "s", "default")
        await secret_of(acme, "s", key="two")

        await world.service.delete(SECRET, *place)
        await no_secret(acme, "s")

        async def forgotten() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            return ANNOTATION not in (found or {})["metadata"]["annotations"]

        await eventually(forgotten, what="the end of the annotation")


async def test_the_copy_goes_with_the_object_it_belongs_to(world: World) -> None:
    """SA#114: no credentials outlive the object."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="one"))
        await secret_of(acme, "s", key="one")
        await acme.client.delete(world.kind, "x", "default")
        await no_secret(acme, "s")


async def test_a_customers_own_secret_of_that_name_is_never_touched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6b.C: event and condition tell it, and when the name is free the provider's one appears."""
    monkeypatch.setattr(work, "AGAIN_AFTER_CONFLICT", 1.0)
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(SECRET, "s", "default", data=encoded(mine="1"))
        await acme.create(world.kind, "x", "default", spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="one"))
        await _conflict_is_told(acme)
        await eventually(lambda: _obstacle(world, acme), what="a condition about the conflict")
        await secret_of(acme, "s", mine="1")
        await acme.client.patch(world.kind, "x", "default", {"spec": {"again": True}})
        await acme.create(world.kind, "y", "default", spec={})
        await acme.client.delete(world.kind, "y", "default")
        await secret_of(acme, "s", mine="1")
        await acme.client.delete(SECRET, "s", "default")
        await secret_of(acme, "s", key="one")

        async def taken_back() -> bool:
            return not await _obstacle(world, acme)

        await eventually(taken_back, what="the end of the condition")


async def _conflict_is_told(customer: Workspace) -> None:
    async def told() -> bool:
        return "RelatedObjectConflict" in await customer.events("x")

    await eventually(told, what="an event about the conflict")


async def _ended(world: World, customer: Workspace) -> None:
    async def gone() -> bool:
        return await customer.client.get(world.kind, "x", "default") is None

    await eventually(gone, what="the end of x")


async def _obstacle(world: World, customer: Workspace) -> str:
    """Return the reason of the agent's own condition on the order, or nothing."""
    found = await customer.client.get(world.kind, "x", "default")
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return "".join(one["reason"] for one in conditions if one["type"] == SYNCED)


async def test_a_customers_own_secret_outlives_the_object_whose_copy_it_kept_away(
    world: World,
) -> None:
    """6b.C: neither while the object lives nor when it ends."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(SECRET, "s", "default", data=encoded(mine="1"))
        await acme.create(world.kind, "x", "default", spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="one"))
        await _conflict_is_told(acme)
        await acme.client.delete(world.kind, "x", "default")
        await _ended(world, acme)
        await secret_of(acme, "s", mine="1")


async def test_what_a_customer_puts_in_the_place_of_a_copy_is_the_customers(world: World) -> None:
    """The annotation that names the place does not make it ours again."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one"))
        seen = await secret_of(acme, "s", key="one")
        labels = dict.fromkeys(seen["metadata"]["labels"])
        own = {"metadata": {"labels": labels}, "data": encoded(mine="1") | {"key": None}}
        await acme.client.patch(SECRET, "s", "default", own)
        await _conflict_is_told(acme)
        await world.service.delete(SECRET, "s", copy["metadata"]["namespace"])
        await acme.client.delete(world.kind, "x", "default")
        await _ended(world, acme)
        await secret_of(acme, "s", mine="1")


async def test_a_related_copy_of_upstreams_making_is_taken_over(world: World) -> None:
    """It has no mark, but upstream's annotation names it."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        made = await acme.create(SECRET, "s", "default", data=encoded(key="old"))
        noted = '{"namespace":"default","name":"s","apiVersion":"v1","kind":"Secret"}'
        metadata = {"annotations": {ANNOTATION: noted}}
        await acme.create(world.kind, "x", "default", metadata=metadata, spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="new"))
        seen = await secret_of(acme, "s", key="new")
        assert seen["metadata"]["uid"] == made["metadata"]["uid"]
        await acme.client.delete(world.kind, "x", "default")
        await no_secret(acme, "s")


async def test_claims_may_be_accepted_late(world: World) -> None:
    """The object is synced without them, and the Secret arrives when the customer agrees."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer(claims=False)
        await acme.create(world.kind, "x", "default", spec={"size": 1})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one"))

        async def reported() -> bool:
            found = await acme.client.get(world.kind, "x", "default")
            return bool(found and (found.get("status") or {}).get("secret") == "s")

        await eventually(reported, what="the status, which needs no claim")
        assert await acme.client.get(SECRET, "s", "default") is None
        await world.answer_claims(acme, "Accepted")
        await secret_of(acme, "s", key="one")


async def test_a_claim_that_is_taken_back_deletes_nothing(world: World) -> None:
    """kcp#3681: the wildcard reports every Secret as deleted, and all of them still exist."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme, beta = await world.customer("acme"), await world.customer("beta")
        for customer in (acme, beta):
            await customer.create(world.kind, "x", "default", spec={})
            copy = await world.copy_of(customer, "x")
            await give_secret(world, copy, "s", data=encoded(of=customer.cluster))
            await secret_of(customer, "s", of=customer.cluster)
        before = {copy["metadata"]["uid"] for copy in await world.copies()}
        await world.answer_claims(acme, "Rejected")
        # The other customer's change passes through the same queue after acme's events.
        namespace = (await world.copy_of(beta, "x"))["metadata"]["namespace"]
        await world.service.patch(SECRET, "s", namespace, {"data": encoded(more="1")})
        await secret_of(beta, "s", of=beta.cluster, more="1")
        await secret_of(acme, "s", of=acme.cluster)
        assert before == {copy["metadata"]["uid"] for copy in await world.copies()}
        # And without the claim the customer can still delete the object.
        await acme.client.delete(world.kind, "x", "default")
        await _ended(world, acme)


async def test_a_copy_that_may_not_be_removed_is_not_called_gone(world: World) -> None:
    """The object goes; what stays of it in the workspace is the customer's to delete, who is told so."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer("acme")
        await acme.create(world.kind, "x", "default", spec={})
        await give_secret(world, await world.copy_of(acme, "x"), "s", data=encoded(key="one"))
        await secret_of(acme, "s", key="one")
        claims = [
            claim | ({"state": "Rejected"} if claim["resource"] == "secrets" else {})
            for claim in await world.claims("Accepted")
        ]
        await acme.client.patch(
            API_BINDING, world.export, None, {"spec": {"permissionClaims": claims}}
        )

        await acme.client.delete(world.kind, "x", "default")

        async def told() -> bool:
            listing = await acme.client.list(CORE_EVENT)
            said = [e["message"] for e in listing.items if e["reason"] == "ObjectDeleted"]
            assert said == [SOME_LEFT]
            return True

        await eventually(told, what="the word about the copy")
        await secret_of(acme, "s", key="one")


async def test_a_secret_that_belongs_to_somebody_else_is_never_given_away(world: World) -> None:
    """Neither one without an owner nor another customer's, even in a namespace that they share."""
    related = UP | {"object": {"reference": {"path": "spec.wanted"}}}
    await world.publish(related=[related], naming={"namespace": f"shared-{world.suffix}"})
    async with world.agent():
        await world.published()
        acme, mallory = await world.customer("acme"), await world.customer("mallory")
        await acme.create(world.kind, "x", "default", spec={"wanted": "acmes"})
        await mallory.create(world.kind, "m", "default", spec={"wanted": "acmes"})
        await mallory.create(world.kind, "n", "default", spec={"wanted": "nobodys"})
        copy = await world.copy_of(acme, "x")
        await world.copy_of(mallory, "m")
        await world.copy_of(mallory, "n")
        await give_secret(world, copy, "nobodys", owned=False, data=encoded(key="internal"))
        await give_secret(world, copy, "acmes", data=encoded(key="acme"))
        await secret_of(acme, "acmes", key="acme")
        for name in ("m", "n"):
            await mallory.client.patch(world.kind, name, "default", {"spec": {"again": 1}})

        async def passed() -> bool:
            return bool((await world.copy_of(mallory, "n"))["spec"].get("again"))

        await eventually(passed, what="another pass over mallory's objects")
        listing = await mallory.client.list(SECRET)
        assert listing.items == ()


async def test_without_an_owner_rule_another_customers_secret_stays_where_it_is(
    world: World,
) -> None:
    """What belongs to the copy of another object is refused without any configuration."""
    related = {**UP, "object": {"reference": {"path": "spec.wanted"}}}
    del related["watch"]
    await world.publish(related=[related], naming={"namespace": f"shared-{world.suffix}"})
    async with world.agent():
        await world.published()
        acme, mallory = await world.customer("acme"), await world.customer("mallory")
        await acme.create(world.kind, "x", "default", spec={"wanted": "acmes"})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "acmes", data=encoded(key="acme"))
        await secret_of(acme, "acmes", key="acme")
        await mallory.create(world.kind, "m", "default", spec={"wanted": "acmes"})
        await world.copy_of(mallory, "m")
        await mallory.client.patch(world.kind, "m", "default", {"spec": {"again": 1}})

        async def passed() -> bool:
            return bool((await world.copy_of(mallory, "m"))["spec"].get("again"))

        await eventually(passed, what="another pass over mallory's object")
        assert (await mallory.client.list(SECRET)).items == ()


async def test_what_outlives_a_customers_object_is_nobody_elses(world: World) -> None:
    """The Secret of a copy that is gone and not collected yet, and one that acme handed down."""
    related = {**UP, "object": {"reference": {"path": "spec.wanted"}}}
    del related["watch"]
    naming = {"namespace": f"shared-{world.suffix}"}
    await world.publish(related=[related, DOWN], naming=naming)
    async with world.agent():
        await world.published()
        acme, mallory = await world.customer("acme"), await world.customer("mallory")
        await acme.create(SECRET, "password", "default", stringData={"word": "acmes"})
        for name in ("gone", "stays"):
            await acme.create(world.kind, name, "default", spec={"passwordSecret": "password"})
            copy = await world.copy_of(acme, name)
            await give_secret(world, copy, f"of-{name}", data=encoded(key="acme"))
        await acme.client.delete(world.kind, "gone", "default")

        async def ended() -> bool:
            return await acme.client.get(world.kind, "gone", "default") is None

        await eventually(ended, what="the end of acme's object")
        for wanted in ("of-gone", "of-stays", "password"):
            await mallory.create(world.kind, wanted, "default", spec={"wanted": wanted})
            await world.copy_of(mallory, wanted)
            body = {"spec": {"again": 1}}
            await mallory.client.patch(world.kind, wanted, "default", body)

            async def passed(name: str = wanted) -> bool:
                return bool((await world.copy_of(mallory, name))["spec"].get("again"))

            await eventually(passed, what="another pass over mallory's object")
        assert (await mallory.client.list(SECRET)).items == ()


async def test_a_guard_lets_only_documented_keys_through(world: World) -> None:
    """And an original that its copy does not control is no original."""
    guard = '{"keys": ["key"], "controlled": true}'
    annotations = {"guard.syncagent.kcp.io/credentials": guard}
    await world.publish(related=[UP], annotations=annotations)
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one", internal="x"))
        await secret_of(acme, "s", key="one")
        orphaned: dict[str, Any] = {"metadata": {"ownerReferences": []}}
        await world.service.patch(SECRET, "s", copy["metadata"]["namespace"], orphaned)
        await no_secret(acme, "s")


async def test_a_copy_that_cannot_be_changed_is_replaced(world: World) -> None:
    """6b.J: a Secret's type, or its data when it is immutable."""
    await world.publish(related=[UP])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(world.kind, "x", "default", spec={})
        copy = await world.copy_of(acme, "x")
        await give_secret(world, copy, "s", data=encoded(key="one"), immutable=True)
        await secret_of(acme, "s", key="one")
        namespace = copy["metadata"]["namespace"]
        await world.service.delete(SECRET, "s", namespace)
        await give_secret(world, copy, "s", data=encoded(key="two"), type="example.com/other")
        await secret_of(acme, "s", key="two")


async def test_a_customers_secret_goes_down_and_is_taken_back(world: World) -> None:
    """SA#116, SA#172: with a finalizer of our own on it, which always comes off again."""
    await world.publish(related=[DOWN])
    async with world.agent():
        await world.published()
        acme = await world.customer()
        await acme.create(SECRET, "pw", "default", data=encoded(password="one"))
        await acme.create(world.kind, "x", "default", spec={"passwordSecret": "pw"})
        namespace = (await world.copy_of(acme, "x"))["metadata"]["namespace"]

        async def arrived(**data: str) -> bool:
            found = await world.service.get(SECRET, "pw", namespace)
            return bool(found and found.get("data") == encoded(**data))

        await eventually(lambda: arrived(password="one"), what="the password")
        await acme.client.patch(SECRET, "pw", "default", {"data": encoded(password="two")})
        await eventually(lambda: arrived(password="two"), what="the changed password")

        await acme.client.delete(SECRET, "pw", "default")
        await no_secret(acme, "pw")

        async def taken_back() -> bool:
            return await world.service.get(SECRET, "pw", namespace) is None

        await eventually(taken_back, what="the end of the password below")
        await acme.create(SECRET, "pw", "default", data=encoded(password="three"))
        await eventually(lambda: arrived(password="three"), what="the new password")
        await acme.client.delete(world.kind, "x", "default")
        await eventually(taken_back, what="the end of the password with its object")

        async def free() -> bool:
            found = await acme.client.get(SECRET, "pw", "default")
            return not (found or {})["metadata"].get("finalizers")

        await eventually(free, what="a Secret without our finalizer")


@pytest.mark.parametrize("kind", [CONFIG_MAP], ids=["configmap"])
async def test_selected_originals_reach_only_their_own_workspace(world: World, kind: Any) -> None:
    """6b.A: upstream gave every tenant what the first tenant's rendered selector found."""
    related = {
        "identifier": "settings",
        "origin": "service",
        "version": "v1",
        "resource": kind.plural,
        "watch": {"bySelector": {"matchLabels": {"settings": "yes"}}},
        "object": {
            "selector": {
                "matchLabels": {"settings": "yes", "tenant": "{{ .ClusterName }}"},
                "rewrite": {"regex": {"pattern": "^[a-z0-9]+-", "replacement": "my-"}},
            }
        },
    }
    shared = f"shared-{world.suffix}"
    await world.publish(
        related=[related], naming={"namespace": shared, "name": "{{ .ClusterName }}"}
    )
    async with world.agent():
        await world.published()
        customers = [await world.customer(name) for name in ("acme", "beta", "gamma")]
        for customer in customers:
            await customer.create(world.kind, "x", "default", spec={})
            await world.copy_of(customer, "x")
        for customer in customers:
            labels = {"settings": "yes", "tenant": customer.cluster}
            metadata = {"name": f"{customer.cluster}-c", "namespace": shared, "labels": labels}
            manifest = {"apiVersion": "v1", "kind": kind.name, "metadata": metadata}
            await world.service.create(kind, manifest | {"data": {"of": customer.cluster}})
        for customer in customers:

            async def own(of: Workspace = customer) -> bool:
                found = await of.client.list(kind)
                return [one["data"] for one in found.items] == [{"of": of.cluster}]

            await eventually(own, what="only one's own settings")
