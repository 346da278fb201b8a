"""The status of a token request, derived in one place from what was found. Pure."""

from privatellm import conditions
from privatellm.api.api_token_request import APITokenRequestStatus, TokenCondition
from privatellm.api.meta import format_time, parse_time
from privatellm.conditions import Condition, ConditionStatus
from privatellm.names import token_secret_name
from privatellm.verifiers import Verifier
from privatellm_operator.reconcile.discretion import for_customers
from privatellm_operator.reconcile.events import Announcement
from privatellm_operator.reconcile.token.facts import InstanceFacts, OwnSecret, TokenWorld
from privatellm_operator.reconcile.token.plan import WriteStatus
from privatellm_operator.reconcile.token.reasons import Reason, phase_of
from privatellm_operator.reconcile.token.terms import Terms

_TOLD_AS_WARNING = frozenset(
    {
        Reason.INSTANCE_NOT_FOUND,
        Reason.SECRET_CONFLICT,
        Reason.SECRET_REFUSED,
        Reason.SECRETS_FORBIDDEN,
        Reason.QUOTA_EXCEEDED,
        Reason.INVALID_DURATION,
    }
)


def judged(
    world: TokenWorld, reason: Reason, message: str, *, key: Verifier | None, terms: Terms | None
) -> tuple[WriteStatus, ...]:
    """Return the step that makes the status true; empty when it is true already.

    Args:
        world: What was gathered.
        reason: Why the request is in its state.
        message: The same for people.
        key: The verifier of the current key, if there is one.
        terms: The request's terms, where they can be told.
    """
    before = world.request.status
    message = for_customers(message, world.request.metadata.namespace)
    ready = Condition(
        type=TokenCondition.READY,
        status=ConditionStatus.TRUE if reason is Reason.KEY_READY else ConditionStatus.FALSE,
        reason=reason,
        message=message,
    )
    generation = world.request.metadata.generation
    wanted = APITokenRequestStatus(
        phase=phase_of(reason),
        secret_name=_secret_name(world),
        key_id=key.key_id if key else None,
        issued_at=format_time(key.not_before) if key else None,
        expires_at=format_time(terms.ends_at) if terms and terms.ends_at else None,
        last_used_at=_last_used(world),
        observed_generation=generation,
        conditions=conditions.merged(
            before.conditions, [ready], generation=generation, now=world.now
        ),
    )
    return () if wanted == before else (WriteStatus(wanted, _news(world, reason, message)),)


def readiness(world: TokenWorld, instance: InstanceFacts, key: Verifier) -> tuple[Reason, str]:
    """Say whether a key that exists may be called ready.

    The first time it waits for the instance. Afterwards it stays ready while the instance rolls,
    fails or is repaired: those are the instance's conditions, and the key itself is as good as before.
    """
    name = world.request.spec.instance_name
    if instance.settled or _was_ready(world):
        return Reason.KEY_READY, f"The key {key.key_id} opens the LLMInstance {name}."
    return (
        Reason.INSTANCE_NOT_READY,
        f"The key {key.key_id} is issued and works as soon as the LLMInstance {name} is ready.",
    )


def _last_used(world: TokenWorld) -> str | None:
    """Return the later of what is stored and what was reported; a stored time from the future is no use."""
    stored = parse_time(world.request.status.last_used_at)
    known = [t for t in (stored, world.last_used) if t is not None and t <= world.now]
    return format_time(max(known)) if known else None


def _was_ready(world: TokenWorld) -> bool:
    ready = conditions.find(world.request.status.conditions, TokenCondition.READY)
    return ready is not None and ready.is_true


def _secret_name(world: TokenWorld) -> str | None:
    ours = isinstance(world.secret, OwnSecret)
    return token_secret_name(world.request.metadata.name) if ours else None


def _news(world: TokenWorld, reason: Reason, message: str) -> Announcement | None:
    """An event tells what the condition did not say before."""
    before = conditions.find(world.request.status.conditions, TokenCondition.READY)
    if before is not None and (before.reason, before.message) == (reason, message):
        return None
    return Announcement(reason.value, message, warning=reason in _TOLD_AS_WARNING)
