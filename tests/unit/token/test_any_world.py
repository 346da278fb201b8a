"""Whatever the world looks like, and whatever a customer wrote into it, these things hold."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from privatellm import labels
from privatellm.api.llm_instance import InstancePhase
from privatellm.tokens import Token
from privatellm_operator.reconcile.token.decide import decide
from privatellm_operator.reconcile.token.facts import (
    ForeignSecret,
    HiddenSecret,
    InstanceFacts,
    NoSecret,
    OwnSecret,
    TokenWorld,
)
from privatellm_operator.reconcile.token.plan import (
    AddFinalizer,
    IssueKey,
    PatchSecret,
    RemoveFinalizer,
    RemoveVerifier,
    WriteStatus,
)
from privatellm_operator.reconcile.token.terms import terms_of
from privatellm_operator.render import token_secret
from token_strategies import SPECS, statuses
from token_worlds import (
    CREATED,
    INSTANCE_UID,
    OTHER_INSTANCE_UID,
    POLICY,
    a_request,
    a_secret,
    a_verifier,
    a_world,
    acted_on,
    encoded,
)

TOKENS = tuple(Token.mint() for _ in range(4))
"""The keys of a request's life; which of them exist is up to the example."""

STATUSES = statuses([token.key_id for token in TOKENS])

INSTANCES = st.none() | st.builds(
    InstanceFacts, st.just(INSTANCE_UID), st.sampled_from([*InstancePhase, None])
)

HOURS = st.floats(min_value=0, max_value=48).map(lambda hours: timedelta(hours=hours))


@st.composite
def worlds(draw: st.DrawFn) -> TokenWorld:
    """Draw any world: written by us, by a customer, by crashes and by time."""
    request = a_request(
        finalized=draw(st.booleans()),
        deleting=draw(st.booleans()),
        status=draw(STATUSES),
        **draw(SPECS),
    )
    verifiers = tuple(
        a_verifier(
            token,
            issued=CREATED + timedelta(seconds=draw(st.integers(0, 48 * 3600))),
            ends=draw(st.sampled_from([None, CREATED + timedelta(hours=2)])),
            instance_uid=draw(st.sampled_from([INSTANCE_UID, OTHER_INSTANCE_UID])),
        )
        for token in TOKENS
        if draw(st.booleans())
    )
    secret = draw(
        st.sampled_from(["none", "refused", "foreign", "hidden"])
        | st.sampled_from([*TOKENS, None])
        | st.text(max_size=60)
    )
    return a_world(
        request,
        instance=draw(INSTANCES),
        verifiers=verifiers,
        damaged=draw(st.sampled_from([(), ("v-broken",)])),
        secret=_secret(request, secret),
        now=CREATED + draw(HOURS),
    )


def _secret(request: Any, kind: Any) -> Any:
    match kind:
        case "none":
            return NoSecret()
        case "refused":
            return NoSecret("exceeded quota")
        case "hidden":
            return HiddenSecret("forbidden")
        case "foreign":
            return ForeignSecret("is foreign")
        case str():
            secret = a_secret(request, None)
            secret["data"][token_secret.API_KEY] = encoded(kind)
            return secret
        case _:
            return a_secret(request, kind)


@given(worlds())
def test_two_looks_settle_any_world(world: TokenWorld) -> None:
    """A plan that was carried out leaves at most the status to be written, and then nothing."""
    after = acted_on(world, decide(world, POLICY))
    if not after.request.metadata.is_deleting:
        after = acted_on(after, decide(after, POLICY))

    assert decide(after, POLICY).steps == ()


@given(worlds())
def test_what_a_customer_wrote_never_reaches_a_verifier(world: TokenWorld) -> None:
    """A key is issued from the instance's UID and the clock alone; its text comes from nowhere else."""
    issued = [step for step in decide(world, POLICY).steps if isinstance(step, IssueKey)]

    for step in issued:
        assert world.instance is not None
        assert step.instance_uid == world.instance.uid
        assert step.not_before == world.now.replace(microsecond=0)
        assert step.not_after == terms_of(world.request, POLICY).ends_at


@given(worlds())
def test_no_patch_writes_a_key(world: TokenWorld) -> None:
    """Outside the issuing of a key, the customer's Secret can only lose one."""
    for step in decide(world, POLICY).steps:
        if isinstance(step, PatchSecret):
            assert step.patch.get("data", {}).get(token_secret.API_KEY) is None


@given(worlds())
def test_a_settled_status_names_a_living_key_of_the_secret_or_none(world: TokenWorld) -> None:
    for step in decide(world, POLICY).steps:
        if isinstance(step, WriteStatus) and step.status.key_id is not None:
            assert isinstance(world.secret, OwnSecret)
            assert step.status.key_id == world.secret.held_key_id


@given(worlds())
def test_at_most_two_keys_live_and_all_open_the_instance_there_is(world: TokenWorld) -> None:
    after = acted_on(world, decide(world, POLICY))

    if not isinstance(world.secret, HiddenSecret):
        assert len(after.verifiers) <= 2
    assert {v.instance_uid for v in after.verifiers} <= {world.instance and world.instance.uid}


@given(worlds())
def test_no_key_outlives_its_request(world: TokenWorld) -> None:
    after = acted_on(world, decide(world, POLICY))
    ended = world.request.spec.revoked or world.request.metadata.is_deleting or not world.instance

    if ended:
        assert after.verifiers == ()


@given(worlds())
def test_verifiers_are_removed_before_anything_else_and_never_without_a_finalizer(
    world: TokenWorld,
) -> None:
    """Order is the argument: first what opens doors, then what is said about it."""
    steps = [type(step) for step in decide(world, POLICY).steps]
    order = [AddFinalizer, RemoveVerifier, IssueKey, PatchSecret, RemoveFinalizer, WriteStatus]

    assert [order.index(step) for step in steps] == sorted(order.index(step) for step in steps)
    if IssueKey in steps:
        finalized = labels.REQUEST_FINALIZER in world.request.metadata.finalizers
        assert finalized or steps[0] is AddFinalizer


@given(worlds())
def test_time_alone_changes_no_decision_before_the_planned_look(world: TokenWorld) -> None:
    """A pass is asked for at the latest when waiting would change what is right."""
    after = world
    for _ in range(2):
        after = acted_on(after, decide(after, POLICY))
    plan = decide(after, POLICY)
    waits = (
        timedelta(days=400)
        if plan.requeue_after is None
        else timedelta(seconds=max(plan.requeue_after, 0))
    )

    just_before = replace(after, now=after.now + max(waits - timedelta(seconds=1), timedelta(0)))

    assert decide(just_before, POLICY).steps == ()
