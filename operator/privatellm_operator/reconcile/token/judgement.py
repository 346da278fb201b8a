"""May this request have a key at all? An :class:`Objection`, or a :class:`Grant` with what a key needs.

A ladder, ordered by finality: what the customer and the clock decided for good comes before what can
still change. An objection ends every live key of the request, unless it is only that we cannot see.
"""

from dataclasses import dataclass

from privatellm.api.meta import format_time
from privatellm.errors import InvalidInputError
from privatellm.names import token_secret_name
from privatellm_operator.reconcile.token.facts import (
    ForeignSecret,
    HiddenSecret,
    InstanceFacts,
    NoSecret,
    OwnSecret,
    TokenPolicy,
    TokenWorld,
)
from privatellm_operator.reconcile.token.reasons import Reason
from privatellm_operator.reconcile.token.terms import Terms, terms_of

WAITING_SECONDS = 30.0
"""When to look again at what somebody else has to change; their event usually comes first."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why there must be no key, in a word for machines and a sentence for people.

    Attributes:
        reason: The condition's reason.
        message: What is wrong and what to do.
        terms: The request's terms, where they can be told.
        retry_after: Seconds until another look is worth it; ``None`` when only an edit can help.
        ends_keys: Whether keys that live must end; not so when nothing speaks against them.
    """

    reason: Reason
    message: str
    terms: Terms | None = None
    retry_after: float | None = None
    ends_keys: bool = True


@dataclass(frozen=True, slots=True)
class Grant:
    """The request may have a key: to this instance, on these terms."""

    instance: InstanceFacts
    terms: Terms


def judge(world: TokenWorld, policy: TokenPolicy) -> Objection | Grant:
    """Return the first objection to a key, or what the key is granted for."""
    # The customer's last word.
    if world.request.spec.revoked:
        return Objection(
            Reason.REVOKED,
            "The key was revoked for good; create another APITokenRequest for a new one.",
        )
    # Without terms nothing below can be judged.
    try:
        terms = terms_of(world.request, policy)
    except InvalidInputError as error:
        return Objection(Reason.INVALID_DURATION, f"{error} Correct the spec.")
    # The clock's last word.
    if terms.ends_at is not None and world.now >= terms.ends_at:
        return _expired(terms, format_time(terms.ends_at))
    # A key opens one instance, not a name.
    if world.instance is None:
        return _instance_missing(world, terms)
    objection = _over_quota(world, policy, terms) or _undeliverable(world, terms)
    return objection or Grant(world.instance, terms)


def _expired(terms: Terms, moment: str) -> Objection:
    return Objection(
        Reason.EXPIRED,
        f"The request expired at {moment}; raise expiresAfter as far as the platform allows, or "
        "create another APITokenRequest.",
        terms,
    )


def _instance_missing(world: TokenWorld, terms: Terms) -> Objection:
    return Objection(
        Reason.INSTANCE_NOT_FOUND,
        f"There is no LLMInstance {world.request.spec.instance_name} in this namespace; create it, "
        "or delete this request.",
        terms,
        WAITING_SECONDS,
    )


def _over_quota(world: TokenWorld, policy: TokenPolicy, terms: Terms) -> Objection | None:
    """Object to a first key beyond the platform's number; a lowered number ends no key that lives."""
    most = policy.most_requests
    if most is None or world.older_siblings < most or world.verifiers:
        return None
    return Objection(
        Reason.QUOTA_EXCEEDED,
        f"A namespace may have up to {most} APITokenRequests and this one has {world.older_siblings} "
        "older ones. Delete one, or ask the platform team for more.",
        terms,
        WAITING_SECONDS,
        ends_keys=False,
    )


def _undeliverable(world: TokenWorld, terms: Terms) -> Objection | None:
    """Object when the customer's Secret cannot take a key: none must be issued in vain."""
    name = token_secret_name(world.request.metadata.name)
    match world.secret:
        case ForeignSecret(fault):
            return Objection(
                Reason.SECRET_CONFLICT,
                f"The Secret {name} {fault}; it is never adopted. Delete it or rename this request.",
                terms,
                WAITING_SECONDS,
            )
        case NoSecret(refusal) if refusal:
            return Objection(
                Reason.SECRET_REFUSED,
                f"The Secret {name} may not be created: {refusal}",
                terms,
                WAITING_SECONDS,
            )
        case HiddenSecret(fault):
            return Objection(
                Reason.SECRETS_FORBIDDEN,
                f"The operator may not handle Secrets here; ask the platform team to onboard this "
                f"namespace. {fault}",
                terms,
                WAITING_SECONDS,
                ends_keys=False,
            )
        case NoSecret() | OwnSecret():
            return None
