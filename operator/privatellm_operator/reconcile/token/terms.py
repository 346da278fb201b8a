"""The terms of a request: when its keys end and when they are replaced.

A request lives ``expiresAfter`` from its creation, a time the API server wrote and nobody can change;
rotation and a key that was issued anew do not prolong it. All times are whole seconds, because that is
what a verifier and a status can say: a fraction would make the stored time differ from the wanted one on
every pass.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from privatellm.api.api_token_request import APITokenRequest
from privatellm.durations import parse_duration
from privatellm_operator.reconcile.token.facts import TokenPolicy


@dataclass(frozen=True, slots=True)
class Terms:
    """What the spec and the platform ask of every key of a request.

    Attributes:
        ends_at: When the request expires; ``None`` for never.
        every: Age at which a key is replaced; ``None`` for never.
        overlap: How long a replaced key still works.
    """

    ends_at: datetime | None
    every: timedelta | None
    overlap: timedelta


def terms_of(request: APITokenRequest, policy: TokenPolicy) -> Terms:
    """Return the terms of a request.

    Raises:
        InvalidInputError: when a duration cannot be counted with.
    """
    rotation = request.spec.rotation
    return Terms(
        ends_at=_end(request, policy),
        every=parse_duration(rotation.every) if rotation else None,
        overlap=parse_duration(rotation.overlap) if rotation and rotation.overlap else timedelta(0),
    )


def _end(request: APITokenRequest, policy: TokenPolicy) -> datetime | None:
    wanted = request.spec.expires_after
    lifetimes = [parse_duration(wanted)] if wanted else []
    lifetimes += [policy.longest_lifetime] if policy.longest_lifetime is not None else []
    created = request.metadata.creation_timestamp
    if not lifetimes or created is None:
        return None
    return (created + min(lifetimes)).astimezone(UTC).replace(microsecond=0)
