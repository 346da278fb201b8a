"""Any sequence of what a customer may write ends without a foreign key that works.

The writer is the administrator and no admission policy is in force, so whoever may do less in a namespace
cannot do more. The judge is the edge: the ForwardAuth service's own index and decision over what is stored.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from secrets import token_hex

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

import thoroughness
from privatellm.errors import ConflictError, PrivateLLMError
from privatellm.kube import kinds
from token_edge import Edge
from token_objects import REQUEST, Tenant
from token_operator import TokenOperator
from token_writes import WRITES, Scene, Victim, Write

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
async def victim(tenant: Tenant, operator: TokenOperator) -> AsyncIterator[Victim]:
    """Somebody else on the same platform, with an instance and a key."""
    theirs = replace(tenant, namespace=f"victim-{token_hex(4)}")
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": theirs.namespace}}
    await tenant.client.create(kinds.NAMESPACE, manifest)
    instance, request = await theirs.order(), await theirs.ask()
    await operator.reconcile(theirs.namespace, REQUEST)
    key = (await theirs.data())["OPENAI_API_KEY"]
    yield Victim(theirs, request["metadata"]["uid"], instance["metadata"]["uid"], key)
    await tenant.client.delete(kinds.NAMESPACE, theirs.namespace)


async def set_the_scene(tenant: Tenant, operator: TokenOperator, victim: Victim) -> Scene:
    """Have an instance and a key of one's own."""
    scene = Scene(tenant, f"app-{token_hex(4)}", victim)
    scene.instance = (await tenant.order(name=scene.name))["metadata"]["uid"]
    asked = await tenant.ask(name=scene.name, instanceName=scene.name)
    scene.request = asked["metadata"]["uid"]
    await settle(operator, scene)
    assert len(scene.issued) == 1
    return scene


async def attempt(write: Write, scene: Scene) -> None:
    """Write; ``--hypothesis-show-statistics`` tells how much of it the API server takes."""
    try:
        await write.on(scene)
    except PrivateLLMError:
        # The customer may not, or there is nothing to write to any more.
        event(f"{type(write).__name__} refused")
    else:
        event(f"{type(write).__name__} taken")


async def settle(operator: TokenOperator, scene: Scene) -> None:
    """Let the operator look at both requests until it has nothing to do, and see what it issued."""
    places = ((scene.tenant, scene.name), (scene.victim.tenant, REQUEST))
    for place, name in (*places, *places):
        # The garbage collector writes, too; the queue comes back after a conflict.
        with contextlib.suppress(ConflictError):
            await operator.reconcile(place.namespace, name)
    await operator.sweeper.sweep()
    held = (await scene.tenant.data(scene.secret)).get("OPENAI_API_KEY")
    if held and held not in scene.tried and held not in scene.issued:
        scene.issued.append(held)


async def assert_no_foreign_key_works(scene: Scene) -> None:
    """Fail unless the only keys that open anything are the operator's own, each where it belongs."""
    edge = await Edge.of(scene.tenant.client, scene.tenant.token_namespace)
    victim = scene.victim
    everybodys = {*scene.issued, *scene.tried, scene.chosen.reveal(), victim.key}
    open_own = {key for key in everybodys if edge.lets_in(key, scene.slug)}
    open_theirs = {key for key in everybodys if edge.lets_in(key, victim.slug)}

    assert open_own <= set(scene.issued)
    assert open_theirs == {victim.key}
    # One more than the key in the Secret works while a prolonged one lives to its end.
    assert len(open_own) <= 2
    # What has ended once stays so, whoever writes it back.
    assert open_own.isdisjoint(scene.ended)
    scene.ended.update(set(scene.issued) - open_own)


@settings(
    max_examples=thoroughness.examples(25),
    deadline=None,
    # A failure tells its few writes in words; making them fewer takes minutes.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(writes=st.lists(WRITES, min_size=3, max_size=8))
async def test_nothing_that_a_customer_writes_makes_a_foreign_key_work(
    tenant: Tenant, operator: TokenOperator, victim: Victim, writes: list[Write]
) -> None:
    """A foreign key is one of their own making, a dead one, somebody else's, and any mixture of these."""
    scene = await set_the_scene(tenant, operator, victim)

    for write in writes:
        await attempt(write, scene)
        await settle(operator, scene)
        await assert_no_foreign_key_works(scene)

    if await tenant.request(scene.name):
        await tenant.strip_finalizers(name=scene.name)
