"""The decision: may this request pass?

One pure function over facts, index and time. Its order is the order of the table in the design: first what
we cannot know, then who is asking, then what is asked for. Nobody learns anything about a key or an
instance before the secret has matched, and an unknown key id costs and answers the same as a wrong secret,
because the index hands out a verifier that fits nothing in its place.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from privatellm_authserver.clocks import Moment
from privatellm_authserver.headers import RequestFacts
from privatellm_authserver.index import Allowed, Entry, TokenIndex
from privatellm_authserver.paths import is_allowed


class Reason(StrEnum):
    """Why a request is denied; the value is the label in metrics and audit lines."""

    INDEX_NOT_FRESH = "index_not_fresh"
    """We have never seen all verifiers, or not lately: somebody may have been revoked."""

    INVALID_KEY = "invalid_api_key"
    """No token, not a token, not exactly one, unknown, wrong, or not valid yet."""

    EXPIRED_KEY = "expired_api_key"
    REVOKED_KEY = "revoked_api_key"

    FACTS_MISSING = "forwarded_headers"
    """An ``X-Forwarded-*`` header that decides is missing or repeated."""

    WRONG_INSTANCE = "wrong_instance"
    """The path is that of another instance, or of none."""

    ALIASED_HEADER = "aliased_header"
    """A header is named almost like one that somebody behind us trusts."""

    WRONG_HOST = "wrong_host"
    """The client did not ask for the public host."""

    PATH_NOT_ALLOWED = "path_not_allowed"


@dataclass(frozen=True, slots=True)
class Denied:
    """The request must not pass."""

    reason: Reason


Decision = Allowed | Denied

_DENIED: Final = {reason: Denied(reason) for reason in Reason}


def verify(facts: RequestFacts, index: TokenIndex, now: Moment) -> Decision:
    """Decide about one request.

    Args:
        facts: What the request says.
        index: What we know about keys.
        now: When it is asked.
    """
    # Whoever was revoked while we were not looking must not get in.
    if not index.is_fresh(now.uptime):
        return _DENIED[Reason.INDEX_NOT_FRESH]
    entry = index.find(facts.key_id)
    reason = _against_key(facts, entry, now) or _against_request(facts, entry)
    return _DENIED[reason] if reason else entry


def _against_key(facts: RequestFacts, entry: Entry, now: Moment) -> Reason | None:
    """Return what speaks against who is asking."""
    # Only who holds the secret learns more than "no".
    if not entry.fits(facts.secret):
        return Reason.INVALID_KEY
    # A key from the future is a clock gone wrong or a forgery.
    if now.wall < entry.valid_from:
        return Reason.INVALID_KEY
    # An expired key's verifier is removed in time, so expiry is the better answer when both are true.
    if now.wall >= entry.not_after:
        return Reason.EXPIRED_KEY
    if entry.revoked:
        return Reason.REVOKED_KEY
    return None


def _against_request(facts: RequestFacts, entry: Entry) -> Reason | None:
    """Return what speaks against what is asked for, once we know who is asking."""
    # Without the edge's word on method, path and host there is nothing to judge.
    if not facts.complete:
        return Reason.FACTS_MISSING
    path = entry.instance.path
    if not facts.uri.startswith(path):
        return Reason.WRONG_INSTANCE
    # Harmless to us, but a reader behind us might take it for ours.
    if facts.aliased:
        return Reason.ALIASED_HEADER
    if not facts.host_is_ours:
        return Reason.WRONG_HOST
    rest = facts.uri[len(path) :]
    if not is_allowed(facts.method, rest):
        return Reason.PATH_NOT_ALLOWED
    return None
