"""Wait for the key of a token request and read it from its Secret.

A key is there when the request's status names its id and its terms *and* the Secret holds the key of that
id: the operator reserves the id before it delivers the key, and writes the terms after it, so each of them
alone can be ahead of the others.
"""

import asyncio
import base64
from contextlib import aclosing
from dataclasses import dataclass, field

from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.errors import (
    ForbiddenError,
    MalformedTokenError,
    NotFoundError,
)
from privatellm.kube import Manifest, kinds
from privatellm.kube.waiting import states
from privatellm.names import token_secret_name
from privatellm.tokens import Token
from privatellm_cli import credentials
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.errors import OverdueError, UnreachedError

KEY_SECONDS = 60.0
"""How long a key may take unless told otherwise; usually it is there within a second."""

_ENDED = (TokenPhase.FAILED, TokenPhase.EXPIRED, TokenPhase.REVOKED)

API_KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"


@dataclass(frozen=True, slots=True)
class Key:
    """A key and what it opens; the key itself is in no ``repr``."""

    request: APITokenRequest
    base_url: str
    text: str = field(repr=False)

    def exports(self) -> str:
        """Return shell exports that the OpenAI SDKs read."""
        variables = {BASE_URL: self.base_url, API_KEY: self.text}
        return "\n".join(credentials.export_lines(variables))

    def document(self) -> Manifest:
        """Return the key for programs."""
        metadata, status = self.request.metadata, self.request.status
        return {
            "namespace": metadata.namespace,
            "name": metadata.name,
            "instance": self.request.spec.instance_name,
            "keyID": status.key_id,
            "apiKey": self.text,
            "baseURL": self.base_url,
            "secretName": token_secret_name(metadata.name),
            "expiresAt": status.expires_at,
        }


async def until_issued(
    cluster: Cluster, name: Name, timeout_seconds: float, *, other_than: str | None = None
) -> Key:
    """Return the key of a token request once it can be used.

    Args:
        cluster: Where it is.
        name: The token request.
        timeout_seconds: How long to wait at most.
        other_than: Id of a key that is on its way out.

    Raises:
        UnreachedError: when there will be no key, with the reason.
        OverdueError: when there is none yet.
        ForbiddenError: when the Secret with the key may not be read.
    """
    last = "the operator has not looked at it yet"
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            aclosing(
                states(cluster.client, kinds.API_TOKEN_REQUEST, name.name, name.namespace)
            ) as seen,
        ):
            async for state in seen:
                request = _require_alive(state, name)
                last = words(request) or last
                if key := await _delivered(cluster, request, other_than):
                    return key
    except TimeoutError:
        raise OverdueError(
            f"APITokenRequest {name.text} has no key after {timeout_seconds:g} s: {last}. It stays, and "
            f"gets one as soon as that is possible."
        ) from None
    raise AssertionError("states() never ends by itself")


def words(request: APITokenRequest) -> str:
    """Return what the operator says about a request, without the full stop."""
    messages = [condition.message for condition in request.status.conditions]
    return messages[0].rstrip(".") if messages else ""


def held(secret: Manifest) -> dict[str, str]:
    """Return what a Secret holds, decoded."""
    data = secret.get("data") or {}
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def _require_alive(state: Manifest | None, name: Name) -> APITokenRequest:
    if state is None:
        raise NotFoundError(f"APITokenRequest {name.text} was deleted meanwhile.")
    request = APITokenRequest.parse(state)
    is_current = (request.status.observed_generation or 0) >= request.metadata.generation
    if is_current and request.status.phase in _ENDED:
        raise UnreachedError(
            f"APITokenRequest {name.text} is {request.status.phase} and gets no key: {words(request)}."
        )
    return request


async def _delivered(
    cluster: Cluster, request: APITokenRequest, other_than: str | None
) -> Key | None:
    key_id, metadata = request.status.key_id, request.metadata
    if not key_id or key_id == other_than or not request.status.issued_at:
        return None
    secret_name = token_secret_name(metadata.name)
    try:
        secret = await cluster.client.get(kinds.SECRET, secret_name, metadata.namespace)
    except ForbiddenError as error:
        raise ForbiddenError(
            f"The key is in the Secret {metadata.namespace}/{secret_name}, which you may not read: {error}"
        ) from error
    data = held(secret) if secret else {}
    text = data.get(API_KEY, "")
    return Key(request, data.get(BASE_URL, ""), text) if _key_id_of(text) == key_id else None


def _key_id_of(text: str) -> str | None:
    try:
        return Token.parse(text).key_id
    except MalformedTokenError:
        return None
