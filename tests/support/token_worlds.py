"""Worlds around one token request, built from named facts, and what a plan makes of them.

:func:`acted_on` carries a plan out on the facts as the API server would, so that unit tests can ask what
the next decision is. The real writer is tested on a real API server.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from privatellm import labels
from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.llm_instance import InstancePhase
from privatellm.names import slug_of, verifier_name
from privatellm.tokens import Token
from privatellm.verifiers import Verifier, hash_profile
from privatellm_operator.reconcile.token.facts import (
    InstanceFacts,
    NoSecret,
    OwnSecret,
    SecretFacts,
    TokenPolicy,
    TokenWorld,
)
from privatellm_operator.reconcile.token.plan import (
    AddFinalizer,
    IssueKey,
    PatchSecret,
    Plan,
    RemoveFinalizer,
    RemoveVerifier,
    Step,
    WriteStatus,
)
from privatellm_operator.reconcile.token.reading import secret_facts
from privatellm_operator.render import token_secret

CREATED = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""When the request was made."""

NOW = CREATED + timedelta(hours=1)
"""The time of the pass."""

REQUEST_UID = "8c5b7f0e-0c0f-4c49-8e67-0f5d3a1b2c3d"
INSTANCE_UID = "1d0c8a52-55f5-4b61-93b2-7b1f3a0a9e11"
OTHER_INSTANCE_UID = "f2b6f4f0-6b0e-4a57-8c43-3b9d1c7e5a20"

POLICY = TokenPolicy(
    token_namespace="private-llm-tokens", scheme="https", public_host="llm.example.com"
)
ENDPOINT = POLICY.endpoint(INSTANCE_UID)
INSTANCE = InstanceFacts(INSTANCE_UID, InstancePhase.READY)

_HASHES = hash_profile()


def a_request(
    *,
    finalized: bool = True,
    deleting: bool = False,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> APITokenRequest:
    """Return a token request."""
    metadata = {
        "name": "app",
        "namespace": "acme",
        "uid": REQUEST_UID,
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": CREATED.isoformat(),
        "finalizers": [labels.REQUEST_FINALIZER] if finalized else [],
    }
    if deleting:
        metadata["deletionTimestamp"] = NOW.isoformat()
    return APITokenRequest.parse(
        {
            "metadata": metadata,
            "spec": {"instanceName": "chat", **spec},
            "status": dict(status or {}),
        }
    )


def a_verifier(
    token: Token,
    *,
    issued: datetime = CREATED,
    ends: datetime | None = None,
    instance_uid: str = INSTANCE_UID,
) -> Verifier:
    """Return the verifier of a token."""
    return Verifier(
        key_id=token.key_id,
        hash=_HASHES.hash(token.secret),
        request_uid=REQUEST_UID,
        instance_uid=instance_uid,
        slug=slug_of(instance_uid),
        namespace="acme",
        not_before=issued,
        not_after=ends,
    )


def a_secret(request: APITokenRequest, token: Token | None) -> dict[str, Any]:
    """Return the customer's Secret as it is stored."""
    manifest = token_secret.new_secret(request, ENDPOINT, token)
    manifest["metadata"] |= {"uid": "secret-uid", "resourceVersion": "9"}
    return manifest


def a_world(
    request: APITokenRequest | None = None,
    *,
    instance: InstanceFacts | None = INSTANCE,
    verifiers: tuple[Verifier, ...] = (),
    damaged: tuple[str, ...] = (),
    secret: Mapping[str, Any] | SecretFacts | None = None,
    now: datetime = NOW,
) -> TokenWorld:
    """Return a world; a Secret may be given as it is stored."""
    request = request or a_request()
    facts: SecretFacts = NoSecret()
    if isinstance(secret, Mapping):
        facts = secret_facts(secret, request, verifiers)
    elif secret is not None:
        facts = secret
    return TokenWorld(
        request=request,
        instance=instance,
        verifiers=verifiers,
        damaged=damaged,
        secret=facts,
        now=now,
    )


def a_settled_world(request: APITokenRequest | None = None, **facts: Any) -> TokenWorld:
    """Return a world with a key that was issued with the request."""
    request = request or a_request()
    token = Token.mint()
    verifier = a_verifier(token, ends=facts.pop("ends", None))
    return a_world(request, verifiers=(verifier,), secret=a_secret(request, token), **facts)


def acted_on(world: TokenWorld, plan: Plan) -> TokenWorld:
    """Return the world that a plan makes."""
    for step in plan.steps:
        world = _after(world, step)
    return world


def _after(world: TokenWorld, step: Step) -> TokenWorld:
    match step:
        case RemoveVerifier(name, _):
            kept = tuple(v for v in world.verifiers if verifier_name(v.key_id) != name)
            damaged = tuple(other for other in world.damaged if other != name)
            return _seen_anew(replace(world, verifiers=kept, damaged=damaged))
        case IssueKey():
            return _with_key(world, step)
        case PatchSecret(patch):
            assert isinstance(world.secret, OwnSecret), "Only our own Secret may be patched."
            patched = _merged(world.secret.manifest, patch)
            return _seen_anew(replace(world, secret=OwnSecret(patched, None)))
        case WriteStatus(status):
            return replace(world, request=world.request.model_copy(update={"status": status}))
        case AddFinalizer():
            return _finalized(world, (labels.REQUEST_FINALIZER,))
        case RemoveFinalizer():
            return _finalized(world, ())


def _with_key(world: TokenWorld, step: IssueKey) -> TokenWorld:
    token = Token.mint()
    verifier = a_verifier(
        token, issued=step.not_before, ends=step.not_after, instance_uid=step.instance_uid
    )
    if isinstance(world.secret, OwnSecret):
        patch = token_secret.with_key(world.secret.manifest, world.request, ENDPOINT, token)
        manifest = _merged(world.secret.manifest, patch)
    else:
        manifest = a_secret(world.request, token)
    status = world.request.status.model_copy(update={"key_id": token.key_id})
    return _seen_anew(
        replace(
            world,
            request=world.request.model_copy(update={"status": status}),
            verifiers=(*world.verifiers, verifier),
            secret=OwnSecret(manifest, None),
        )
    )


def _seen_anew(world: TokenWorld) -> TokenWorld:
    if not isinstance(world.secret, OwnSecret):
        return world
    facts = secret_facts(world.secret.manifest, world.request, world.verifiers)
    return replace(world, secret=facts)


def _finalized(world: TokenWorld, finalizers: tuple[str, ...]) -> TokenWorld:
    metadata = world.request.metadata.model_copy(update={"finalizers": finalizers})
    return replace(world, request=world.request.model_copy(update={"metadata": metadata}))


def _merged(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch (RFC 7386)."""
    merged = dict(stored)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merged(merged.get(key) or {}, value)
        else:
            merged[key] = value
    return merged


def encoded(text: str) -> str:
    """Return a text as Secrets store it."""
    return b64encode(text.encode()).decode()
