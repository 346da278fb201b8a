"""The decision as a table: facts about the world in, steps out."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from privatellm.api.llm_instance import InstancePhase
from privatellm.names import verifier_name
from privatellm.tokens import Token
from privatellm_operator.reconcile.token.decide import decide
from privatellm_operator.reconcile.token.facts import (
    ForeignSecret,
    HiddenSecret,
    InstanceFacts,
    NoSecret,
    TokenWorld,
)
from privatellm_operator.reconcile.token.plan import (
    AddFinalizer,
    IssueKey,
    Occasion,
    PatchSecret,
    Plan,
    RemoveFinalizer,
    RemoveVerifier,
    WriteStatus,
)
from privatellm_operator.render import token_secret
from token_worlds import (
    CREATED,
    INSTANCE,
    INSTANCE_UID,
    NOW,
    OTHER_INSTANCE_UID,
    POLICY,
    a_request,
    a_secret,
    a_settled_world,
    a_verifier,
    a_world,
    acted_on,
)


def kinds_of(plan: Plan) -> list[type]:
    """Return the kinds of a plan's steps, in order."""
    return [type(step) for step in plan.steps]


def settled(world: TokenWorld) -> TokenWorld:
    """Return the world after its status was written."""
    return acted_on(world, decide(world, POLICY))


def reason_of(plan: Plan) -> str:
    """Return the reason that a plan writes into the status."""
    (write,) = (step for step in plan.steps if isinstance(step, WriteStatus))
    return write.status.conditions[0].reason


def issue_of(plan: Plan) -> IssueKey:
    """Return the plan's one key."""
    (issue,) = (step for step in plan.steps if isinstance(step, IssueKey))
    return issue


def test_a_new_request_is_protected_before_its_key_is_issued() -> None:
    plan = decide(a_world(a_request(finalized=False)), POLICY)

    assert kinds_of(plan) == [AddFinalizer, IssueKey]
    assert plan.looks_again
    assert issue_of(plan) == IssueKey(INSTANCE_UID, NOW, None, Occasion.FIRST)


def test_nothing_is_left_to_do_in_a_settled_world() -> None:
    assert decide(settled(a_settled_world()), POLICY) == Plan()


def test_a_decision_changes_none_of_the_facts() -> None:
    world = a_settled_world()
    before = repr(world), repr(getattr(world.secret, "manifest", None))

    decide(world, POLICY)

    assert (repr(world), repr(getattr(world.secret, "manifest", None))) == before


@pytest.mark.parametrize("phase", [p for p in InstancePhase if p not in ("Ready", "Stopped")])
def test_the_first_ready_waits_for_the_instance(phase: InstancePhase) -> None:
    plan = decide(a_settled_world(instance=InstanceFacts(INSTANCE_UID, phase)), POLICY)

    assert reason_of(plan) == "InstanceNotReady"


@pytest.mark.parametrize("phase", [InstancePhase.READY, InstancePhase.STOPPED])
def test_an_instance_that_answers_or_was_stopped_lets_the_key_be_ready(
    phase: InstancePhase,
) -> None:
    plan = decide(a_settled_world(instance=InstanceFacts(INSTANCE_UID, phase)), POLICY)

    assert reason_of(plan) == "KeyReady"


@pytest.mark.parametrize("phase", [*InstancePhase, None])
def test_a_ready_key_stays_ready_whatever_the_instance_does(phase: InstancePhase | None) -> None:
    world = settled(a_settled_world())
    facts = InstanceFacts(INSTANCE_UID, phase)

    plan = decide(
        a_world(
            world.request,
            instance=facts,
            verifiers=world.verifiers,
            secret=world.secret,
        ),
        POLICY,
    )

    assert plan == Plan()


OBJECTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "revoked": ({"revoked": True}, {}, "Revoked"),
    "expired": ({"expiresAfter": "30m"}, {}, "Expired"),
    "expired this very second": ({"expiresAfter": "1h"}, {}, "Expired"),
    "no instance": ({}, {"instance": None}, "InstanceNotFound"),
    "foreign Secret": ({}, {"secret": ForeignSecret("is foreign")}, "SecretConflict"),
    "refused Secret": ({}, {"secret": NoSecret("exceeded quota")}, "SecretRefused"),
    "duration out of range": ({"expiresAfter": "9999999h"}, {}, "InvalidDuration"),
    "revoked beats expired": ({"revoked": True, "expiresAfter": "1m"}, {}, "Revoked"),
    "expired beats no instance": ({"expiresAfter": "1m"}, {"instance": None}, "Expired"),
}


@pytest.mark.parametrize(("spec", "facts", "reason"), OBJECTIONS.values(), ids=OBJECTIONS)
def test_an_objection_ends_every_key_before_it_is_told(
    spec: dict[str, Any], facts: dict[str, Any], reason: str
) -> None:
    request, tokens = a_request(**spec), [Token.mint(), Token.mint()]
    verifiers = tuple(a_verifier(token) for token in tokens)
    facts = {"secret": a_secret(request, tokens[0])} | facts

    plan = decide(a_world(request, verifiers=verifiers, damaged=("v-broken",), **facts), POLICY)

    names = sorted([*(verifier_name(token.key_id) for token in tokens), "v-broken"])
    assert plan.steps[:3] == tuple(RemoveVerifier(name) for name in names)
    assert reason_of(plan) == reason
    assert kinds_of(plan)[-1] is WriteStatus
    assert IssueKey not in kinds_of(plan)


def test_a_key_that_we_are_not_allowed_to_see_is_not_ended() -> None:
    """A right that was taken away by mistake must not cost every customer their key."""
    world = a_world(verifiers=(a_verifier(Token.mint()),), secret=HiddenSecret("forbidden"))

    plan = decide(world, POLICY)

    assert kinds_of(plan) == [WriteStatus]
    assert reason_of(plan) == "SecretsForbidden"
    assert plan.requeue_after is not None


def test_a_key_to_an_earlier_instance_is_ended_even_where_we_may_not_look() -> None:
    earlier = a_verifier(Token.mint(), instance_uid=OTHER_INSTANCE_UID)
    world = a_world(verifiers=(a_verifier(Token.mint()), earlier), secret=HiddenSecret("forbidden"))

    plan = decide(world, POLICY)

    assert kinds_of(plan) == [RemoveVerifier, WriteStatus]
    assert plan.steps[0] == RemoveVerifier(verifier_name(earlier.key_id))


def test_a_revoked_key_is_ended_even_where_we_may_not_look() -> None:
    verifiers = (a_verifier(Token.mint()),)

    plan = decide(
        a_world(a_request(revoked=True), verifiers=verifiers, secret=HiddenSecret("x")), POLICY
    )

    assert kinds_of(plan) == [RemoveVerifier, WriteStatus]


@pytest.mark.parametrize(("spec", "facts", "reason"), OBJECTIONS.values(), ids=OBJECTIONS)
def test_an_objection_that_was_told_is_not_told_again(
    spec: dict[str, Any], facts: dict[str, Any], reason: str
) -> None:
    world = settled(a_world(a_request(**spec), **facts))

    assert decide(world, POLICY).steps == (), reason


def test_a_dead_key_is_taken_out_of_our_secret() -> None:
    request, token = a_request(revoked=True), Token.mint()

    plan = decide(a_world(request, secret=a_secret(request, token)), POLICY)

    (patch,) = (step.patch for step in plan.steps if isinstance(step, PatchSecret))
    assert patch["data"] == {token_secret.API_KEY: None}


def test_a_request_that_has_no_key_needs_no_finalizer() -> None:
    plan = decide(a_world(a_request(finalized=False), instance=None), POLICY)

    assert AddFinalizer not in kinds_of(plan)


@pytest.mark.parametrize(
    ("spec", "retried"),
    [({"revoked": True}, False), ({"expiresAfter": "1m"}, False), ({}, True)],
    ids=["revoked", "expired", "no instance"],
)
def test_only_what_somebody_else_can_change_is_looked_at_again(
    spec: dict[str, Any], retried: bool
) -> None:
    plan = decide(a_world(a_request(**spec), instance=None), POLICY)

    assert (plan.requeue_after is not None) is retried


def test_a_namespace_that_goes_takes_its_keys_first() -> None:
    """The request is deleted minutes later; until then nothing is issued, and it says so."""
    token = Token.mint()
    with_key = a_world(a_request(), verifiers=(a_verifier(token),))

    plan = decide(replace(with_key, namespace_leaves=True, damaged=("v-odd",)), POLICY)
    *removed, said = plan.steps
    assert set(removed) == {RemoveVerifier(verifier_name(token.key_id)), RemoveVerifier("v-odd")}
    assert isinstance(said, WriteStatus)
    assert (said.status.phase, said.status.conditions[0].reason) == ("Revoked", "Terminating")

    told = a_request(status=said.status.to_kubernetes())
    assert decide(replace(a_world(told), namespace_leaves=True), POLICY) == Plan()


def test_a_deleted_request_that_somebody_else_keeps_says_that_its_key_is_ended() -> None:
    """It may be kept for days; the word comes after the release, which nothing may hold up."""
    request = a_request(deleting=True)
    kept = request.metadata.model_copy(
        update={"finalizers": (*request.metadata.finalizers, "example.com/backup")}
    )
    world = a_world(
        request.model_copy(update={"metadata": kept}), verifiers=(a_verifier(Token.mint()),)
    )

    plan = decide(world, POLICY)

    assert kinds_of(plan) == [RemoveVerifier, RemoveFinalizer, WriteStatus]


def test_a_deleted_request_loses_its_verifiers_and_then_its_finalizer() -> None:
    token = Token.mint()

    plan = decide(a_world(a_request(deleting=True), verifiers=(a_verifier(token),)), POLICY)

    assert plan.steps == (RemoveVerifier(verifier_name(token.key_id)), RemoveFinalizer())


def test_a_deleted_request_without_our_finalizer_still_loses_its_verifiers() -> None:
    request = a_request(deleting=True, finalized=False)

    plan = decide(a_world(request, verifiers=(a_verifier(Token.mint()),)), POLICY)

    assert kinds_of(plan) == [RemoveVerifier]


LOST: dict[str, dict[str, Any]] = {
    "Secret gone": {"secret": NoSecret()},
    "Secret without a key": {"token": None},
    "Secret with another token": {"token": Token.mint()},
}


@pytest.mark.parametrize("facts", LOST.values(), ids=LOST)
def test_a_lost_key_is_ended_before_a_new_one_is_issued(facts: dict[str, Any]) -> None:
    request, token = a_request(), Token.mint()
    secret = facts.get("secret") or a_secret(request, facts["token"])

    plan = decide(a_world(request, verifiers=(a_verifier(token),), secret=secret), POLICY)

    assert kinds_of(plan) == [RemoveVerifier, IssueKey]
    assert issue_of(plan).occasion is Occasion.LOST


def test_keys_to_an_earlier_instance_of_the_name_stay_dead() -> None:
    request, token = a_request(), Token.mint()
    verifier = a_verifier(token, instance_uid=OTHER_INSTANCE_UID)

    plan = decide(a_world(request, verifiers=(verifier,), secret=a_secret(request, token)), POLICY)

    assert kinds_of(plan) == [RemoveVerifier, IssueKey]
    assert issue_of(plan).instance_uid == INSTANCE_UID
    assert issue_of(plan).occasion is Occasion.INSTANCE_RECREATED


@pytest.mark.parametrize("spec", [{}, {"rotation": {"every": "9h", "overlap": "9h"}}], ids=str)
def test_a_verifier_whose_plaintext_a_crash_lost_goes_and_the_key_before_it_stays(
    spec: dict[str, Any],
) -> None:
    request, token = a_request(**spec), Token.mint()
    kept, lost = a_verifier(token), a_verifier(Token.mint(), issued=NOW)

    plan = decide(a_world(request, verifiers=(kept, lost), secret=a_secret(request, token)), POLICY)

    assert plan.steps[0] == RemoveVerifier(verifier_name(lost.key_id))
    assert IssueKey not in kinds_of(plan)


AGES = {
    "young": (timedelta(hours=1), False),
    "due this second": (timedelta(hours=2), True),
    "overdue": (timedelta(days=9), True),
}


@pytest.mark.parametrize(("age", "due"), AGES.values(), ids=AGES)
@pytest.mark.parametrize("overlap", [None, "30m"], ids=["no overlap", "overlap"])
def test_a_key_is_rotated_when_it_is_due(age: timedelta, due: bool, overlap: str | None) -> None:
    rotation = {"every": "2h"} | ({"overlap": overlap} if overlap else {})

    plan = decide(a_settled_world(a_request(rotation=rotation), now=CREATED + age), POLICY)

    assert (IssueKey in kinds_of(plan)) is due
    assert RemoveVerifier not in kinds_of(plan)
    if due:
        assert issue_of(plan).occasion is Occasion.ROTATION


OVERLAPS = {
    "no overlap": (None, timedelta(0), False),
    "overlap lasts": ("30m", timedelta(minutes=29), True),
    "overlap ends this second": ("30m", timedelta(minutes=30), False),
}


@pytest.mark.parametrize(("overlap", "since", "kept"), OVERLAPS.values(), ids=OVERLAPS)
def test_a_rotated_key_lives_until_its_overlap_ends(
    overlap: str | None, since: timedelta, kept: bool
) -> None:
    request = a_request(rotation={"every": "2h"} | ({"overlap": overlap} if overlap else {}))
    token, old = Token.mint(), a_verifier(Token.mint(), issued=CREATED - timedelta(hours=2))
    world = a_world(
        request,
        verifiers=(old, a_verifier(token)),
        secret=a_secret(request, token),
        now=CREATED + since,
    )

    plan = decide(world, POLICY)

    removed = [step for step in plan.steps if isinstance(step, RemoveVerifier)]
    assert [step.name for step in removed] == ([] if kept else [verifier_name(old.key_id)])
    # Nothing but the time tells that its end has come.
    assert all(step.announcement and old.key_id in step.announcement.note for step in removed)
    if kept:
        assert plan.requeue_after == 60


def test_two_keys_live_at_most() -> None:
    request = a_request(rotation={"every": "2h", "overlap": "2h"})
    token = Token.mint()
    issued = (CREATED - timedelta(hours=4), CREATED - timedelta(hours=2))
    older, old = (a_verifier(Token.mint(), issued=moment) for moment in issued)
    world = a_world(
        request, verifiers=(older, old, a_verifier(token)), secret=a_secret(request, token)
    )

    plan = decide(world, POLICY)

    removed = [step for step in plan.steps if isinstance(step, RemoveVerifier)]
    assert removed == [RemoveVerifier(verifier_name(older.key_id))]


def test_a_longer_life_brings_a_new_key_and_keeps_the_old_one_to_its_told_end() -> None:
    request = a_request(expiresAfter="3h")
    world = a_settled_world(request, ends=CREATED + timedelta(hours=2))

    plan = decide(world, POLICY)
    after = acted_on(world, plan)

    assert issue_of(plan).occasion is Occasion.EXTENSION
    assert issue_of(plan).not_after == CREATED + timedelta(hours=3)
    assert len(after.verifiers) == 2
    assert decide(after, POLICY).requeue_after == 3600


def test_a_shorter_life_needs_no_new_key() -> None:
    world = a_settled_world(a_request(expiresAfter="2h"), ends=CREATED + timedelta(hours=9))

    plan = decide(world, POLICY)

    assert IssueKey not in kinds_of(plan)
    assert plan.requeue_after == 3600


def test_a_life_in_fractions_of_a_second_does_not_change_the_key_for_ever() -> None:
    request = a_request(expiresAfter="7200.5s")
    world = acted_on(a_world(request), decide(a_world(request), POLICY))

    assert IssueKey not in kinds_of(decide(world, POLICY))


def test_drift_in_the_secret_is_mended_without_a_new_key() -> None:
    request, token = a_request(), Token.mint()
    secret = a_secret(request, token)
    secret["data"].pop(token_secret.BASE_URL)

    plan = decide(a_world(request, verifiers=(a_verifier(token),), secret=secret), POLICY)

    assert kinds_of(plan) == [PatchSecret, WriteStatus]


def test_the_last_use_that_somebody_else_wrote_is_kept() -> None:
    request = a_request(status={"lastUsedAt": "2026-03-01T12:30:00Z"})

    plan = decide(a_settled_world(request), POLICY)

    (write,) = (step for step in plan.steps if isinstance(step, WriteStatus))
    assert write.status.last_used_at == "2026-03-01T12:30:00Z"


def test_only_news_is_announced() -> None:
    request = a_request(description="old")
    world = settled(a_settled_world(request))
    metadata = world.request.metadata.model_copy(update={"generation": 2})
    edited = world.request.model_copy(update={"metadata": metadata})

    first = decide(a_settled_world(request), POLICY)
    again = decide(
        a_world(edited, verifiers=world.verifiers, secret=world.secret, instance=INSTANCE), POLICY
    )

    assert [s.announcement is not None for s in first.steps if isinstance(s, WriteStatus)] == [True]
    assert [s.announcement for s in again.steps if isinstance(s, WriteStatus)] == [None]
