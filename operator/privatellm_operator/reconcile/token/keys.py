"""Which of a request's verifiers are good for something.

The customer's Secret tells which key is the current one: the one whose plaintext it holds *and* whose
verifier is alive. Everything follows from that. A verifier that is newer than the current key's lost its
plaintext in a crash and verifies nothing that anybody has. One that is older was rotated out and lives
until its overlap ends. With no current key, every verifier is useless or unwanted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from privatellm.names import verifier_name
from privatellm.verifiers import Verifier
from privatellm_operator.reconcile.token.facts import OwnSecret, SecretFacts, TokenWorld
from privatellm_operator.reconcile.token.judgement import Grant
from privatellm_operator.reconcile.token.plan import Occasion
from privatellm_operator.reconcile.token.terms import Terms


@dataclass(frozen=True, slots=True)
class KeyRing:
    """A request's verifiers, told apart.

    Attributes:
        current: The verifier of the key in the customer's Secret.
        retiring: The verifier of the key before it, while its overlap lasts.
        retires_at: When that one ends.
        retired: The verifiers of keys before the current one whose overlap is over: to be removed.
        dead: Names of all others, which nobody was to have any more: to be removed.
    """

    current: Verifier | None
    retiring: Verifier | None
    retires_at: datetime | None
    retired: tuple[Verifier, ...]
    dead: tuple[str, ...]


def key_ring(world: TokenWorld, grant: Grant) -> KeyRing:
    """Tell a request's verifiers apart.

    Args:
        world: What was gathered.
        grant: The instance as it is now (a key to an earlier one of the name is dead), and the terms.
    """
    overlap = grant.terms.overlap
    fitting = [v for v in world.verifiers if v.instance_uid == grant.instance.uid]
    current = next((v for v in fitting if v.key_id == _held(world.secret)), None)
    replaced = _replaced(fitting, current, overlap) if current else {}
    retired = tuple(v for v, end in replaced.items() if end <= world.now)
    retiring = _latest(v for v, end in replaced.items() if end > world.now)
    told_apart = (current, retiring, *retired)
    dead = [verifier_name(v.key_id) for v in world.verifiers if v not in told_apart]
    return KeyRing(
        current=current,
        retiring=retiring,
        retires_at=replaced[retiring] if retiring else None,
        retired=retired,
        dead=tuple(sorted((*dead, *world.damaged))),
    )


def retirement(retiring: Verifier, current: Verifier, overlap: timedelta) -> datetime:
    """Return when a replaced key ends.

    A key that was replaced because its request now lives longer keeps the end that its holder was told;
    every other one ends after the overlap.
    """
    told = retiring.not_after
    if told is not None and (current.not_after is None or told < current.not_after):
        return told
    return current.not_before + overlap


def keep_or_issue(world: TokenWorld, ring: KeyRing, grant: Grant) -> Verifier | Occasion:
    """Return the key that is kept, or why another has to be issued now."""
    if ring.current is None:
        return _occasion_without_key(world, grant.instance.uid)
    return _occasion_to_replace(ring.current, grant.terms, world.now) or ring.current


def _occasion_without_key(world: TokenWorld, instance_uid: str) -> Occasion:
    instances = {v.instance_uid for v in world.verifiers}
    if instances and instance_uid not in instances:
        return Occasion.INSTANCE_RECREATED
    known_before = world.verifiers or world.request.status.issued_at
    return Occasion.LOST if known_before else Occasion.FIRST


def _occasion_to_replace(current: Verifier, terms: Terms, now: datetime) -> Occasion | None:
    if terms.every is not None and now >= current.not_before + terms.every:
        return Occasion.ROTATION
    ends_early = current.not_after is not None and (
        terms.ends_at is None or current.not_after < terms.ends_at
    )
    return Occasion.EXTENSION if ends_early else None


def _held(secret: SecretFacts) -> str | None:
    return secret.held_key_id if isinstance(secret, OwnSecret) else None


def _replaced(
    verifiers: Iterable[Verifier], current: Verifier, overlap: timedelta
) -> dict[Verifier, datetime]:
    """Return the verifiers that were there before the current one, and when each of them ends."""
    return {
        v: retirement(v, current, overlap)
        for v in verifiers
        if v is not current and v.not_before <= current.not_before
    }


def _latest(verifiers: Iterable[Verifier]) -> Verifier | None:
    return max(verifiers, key=lambda v: (v.not_before, v.key_id), default=None)
