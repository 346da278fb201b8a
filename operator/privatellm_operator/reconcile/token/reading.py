"""What stored Secrets say, read without believing more than can be checked. Pure.

The text that a customer's Secret holds under the key's name may be anything. It is parsed, looked up and
compared; it is never turned into anything.
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from privatellm.api.api_token_request import APITokenRequest
from privatellm.errors import MalformedTokenError, MalformedVerifierError
from privatellm.tokens import Token
from privatellm.verifiers import Digest, Verifier
from privatellm_operator.reconcile.token.facts import ForeignSecret, OwnSecret
from privatellm_operator.render import token_secret


def secret_facts(
    live: Mapping[str, Any], request: APITokenRequest, verifiers: Iterable[Verifier]
) -> ForeignSecret | OwnSecret:
    """Say whose a Secret is, and for which live verifier it holds the plaintext."""
    owners = live["metadata"].get("ownerReferences") or ()
    if not any(owner["uid"] == request.metadata.uid for owner in owners):
        return ForeignSecret("exists and does not belong to this request")
    if live.get("immutable"):
        return ForeignSecret("was made immutable and cannot take a key")
    if live.get("type") != token_secret.TYPE:
        return ForeignSecret(f"is of the type {live.get('type')} and cannot take a key")
    return OwnSecret(live, held_key_id(live, verifiers))


def held_key_id(live: Mapping[str, Any], verifiers: Iterable[Verifier]) -> str | None:
    """Return the id of the key in a Secret, if one of the verifiers confirms it."""
    token = token_in(live)
    if token is None:
        return None
    verifier = next((v for v in verifiers if v.key_id == token.key_id), None)
    if verifier is None or not Digest.decode(verifier.hash).matches(token.secret.encode()):
        return None
    return verifier.key_id


def token_in(live: Mapping[str, Any]) -> Token | None:
    """Return what a Secret holds in the place of a key, if it has the form of one."""
    text = (live.get("data") or {}).get(token_secret.API_KEY) or ""
    try:
        return Token.parse(b64decode(text).decode())
    except (MalformedTokenError, UnicodeDecodeError):
        return None


def verifiers_among(
    secrets: Iterable[Mapping[str, Any]],
) -> tuple[tuple[Verifier, ...], tuple[str, ...]]:
    """Return the verifiers among Secrets, and the names of those that the edge cannot read."""
    live: list[Verifier] = []
    damaged: list[str] = []
    for secret in secrets:
        try:
            live.append(Verifier.from_secret(secret))
        except MalformedVerifierError:
            damaged.append(secret["metadata"]["name"])
    return tuple(live), tuple(damaged)
