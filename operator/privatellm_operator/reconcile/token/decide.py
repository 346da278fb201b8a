"""The decision of a pass: from a gathered world to a plan. Pure, and the whole policy on one screen.

It is level-triggered: nothing is remembered between passes but what the cluster stores, and a plan that was
carried out leaves a world in which the next decision is to do nothing. Five situations exist: the request
goes away; its namespace does; something speaks against a key; a key is missing or due; a key is there and
is kept in shape.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from privatellm import labels
from privatellm.names import verifier_name
from privatellm.verifiers import Verifier
from privatellm_operator.reconcile.events import Announcement
from privatellm_operator.reconcile.token import keys, status
from privatellm_operator.reconcile.token.facts import OwnSecret, TokenPolicy, TokenWorld
from privatellm_operator.reconcile.token.judgement import Grant, Objection, judge
from privatellm_operator.reconcile.token.plan import (
    RETIRED,
    AddFinalizer,
    IssueKey,
    Occasion,
    PatchSecret,
    Plan,
    RemoveFinalizer,
    RemoveVerifier,
    Step,
)
from privatellm_operator.reconcile.token.reasons import Reason
from privatellm_operator.reconcile.token.terms import Terms
from privatellm_operator.render import token_secret

Steps = tuple[Step, ...]


def decide(world: TokenWorld, policy: TokenPolicy) -> Plan:
    """Return what has to be written now, in order, and when to look again."""
    if world.request.metadata.is_deleting:
        return _let_go(world)
    if world.namespace_leaves:
        # Kubernetes comes to the request when the last pod has ended, and a key must not live for so long.
        return Plan((*_remove_all(world), *_ended(world)))
    match judge(world, policy):
        case Objection() as objection:
            return _object(world, objection)
        case Grant() as grant:
            return _keep_a_key(world, grant, policy)


def _let_go(world: TokenWorld) -> Plan:
    """Remove every verifier, and only then the finalizer; the Secret is garbage-collected.

    Where somebody else's finalizer keeps the request, it says last of all that its key is ended.
    """
    release: Steps = (RemoveFinalizer(),) if _is_finalized(world) else ()
    others = set(world.request.metadata.finalizers) - {labels.REQUEST_FINALIZER}
    return Plan((*_remove_all(world), *release, *(_ended(world) if others else ())))


def _ended(world: TokenWorld) -> Steps:
    message = "The key is ended, because the request or its namespace is being deleted."
    return status.judged(world, Reason.TERMINATING, message, key=None, terms=None)


def _object(world: TokenWorld, objection: Objection) -> Plan:
    """End the keys that must end, take the dead one out of the customer's Secret, then say why."""
    ended = _remove_all(world) if objection.ends_keys else _remove_strangers(world)
    stripped = (
        token_secret.without_key(world.secret.manifest)
        if isinstance(world.secret, OwnSecret)
        else None
    )
    said = status.judged(
        world, objection.reason, objection.message, key=None, terms=objection.terms
    )
    return Plan((*ended, *_patched(stripped), *said), objection.retry_after)


def _keep_a_key(world: TokenWorld, grant: Grant, policy: TokenPolicy) -> Plan:
    """Remove what is dead, then issue a key where one is missing or due, or keep the one there is."""
    ring = keys.key_ring(world, grant)
    protected: Steps = () if _is_finalized(world) else (AddFinalizer(),)
    opening: Steps = (*protected, *(RemoveVerifier(name) for name in ring.dead), *_retire(ring))
    kept = keys.keep_or_issue(world, ring, grant)
    if isinstance(kept, Occasion):
        return Plan((*opening, _issue(world, grant, kept)))
    return Plan(
        (*opening, *_mended(world, grant, policy), *_said(world, grant, kept)),
        _seconds_until(world.now, _turning_points(ring, kept, grant.terms)),
    )


def _retire(ring: keys.KeyRing) -> Iterator[Step]:
    """End the keys whose overlap is over: time did that, so nothing else tells their holders."""
    for key_id in (verifier.key_id for verifier in ring.retired):
        note = f"The key {key_id} ended; another one had taken its place."
        yield RemoveVerifier(verifier_name(key_id), Announcement(RETIRED, note))


def _issue(world: TokenWorld, grant: Grant, occasion: Occasion) -> IssueKey:
    return IssueKey(
        instance_uid=grant.instance.uid,
        not_before=world.now.replace(microsecond=0),
        not_after=grant.terms.ends_at,
        occasion=occasion,
    )


def _mended(world: TokenWorld, grant: Grant, policy: TokenPolicy) -> Steps:
    if not isinstance(world.secret, OwnSecret):
        return ()
    endpoint = policy.endpoint(grant.instance.uid)
    return _patched(token_secret.in_shape(world.secret.manifest, world.request, endpoint))


def _said(world: TokenWorld, grant: Grant, key: Verifier) -> Steps:
    reason, message = status.readiness(world, grant.instance, key)
    return status.judged(world, reason, message, key=key, terms=grant.terms)


def _turning_points(ring: keys.KeyRing, current: Verifier, terms: Terms) -> Iterator[datetime]:
    """Yield the moments at which time alone changes the decision."""
    if terms.ends_at is not None:
        yield terms.ends_at
    if terms.every is not None:
        yield current.not_before + terms.every
    if ring.retires_at is not None:
        yield ring.retires_at


def _seconds_until(now: datetime, moments: Iterator[datetime]) -> float | None:
    return min(((moment - now).total_seconds() for moment in moments), default=None)


def _remove_all(world: TokenWorld) -> Steps:
    names = (*(verifier_name(v.key_id) for v in world.verifiers), *world.damaged)
    return tuple(RemoveVerifier(name) for name in sorted(names))


def _remove_strangers(world: TokenWorld) -> Steps:
    """Remove what opens another instance than there is now: no Secret could make it right again."""
    uid = world.instance.uid if world.instance else None
    strangers = (v.key_id for v in world.verifiers if v.instance_uid != uid)
    return tuple(RemoveVerifier(verifier_name(key_id)) for key_id in sorted(strangers))


def _patched(patch: dict[str, Any] | None) -> Steps:
    return () if patch is None else (PatchSecret(patch),)


def _is_finalized(world: TokenWorld) -> bool:
    return labels.REQUEST_FINALIZER in world.request.metadata.finalizers
