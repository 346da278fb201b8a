"""Read everything that one decision needs; write nothing.

What is watched comes from the operator's picture of the cluster, so a pass over a settled world costs no
request. The picture can lag, and no key may die of that: whatever speaks *against* a key (no instance, no
key in the Secret, no verifier for it) is asked of the API server before it is believed. Where a Secret has
yet to be created, a dry run tells whether it could be, before a key is issued that cannot be delivered.
"""

from dataclasses import replace
from datetime import datetime

import structlog

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.llm_instance import LLMInstance
from privatellm.errors import ForbiddenError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import token_secret_name, verifier_name
from privatellm.verifiers import Verifier
from privatellm_operator.reconcile.token.facts import (
    HiddenSecret,
    InstanceFacts,
    NoSecret,
    OwnSecret,
    SecretFacts,
    TokenPolicy,
    TokenWorld,
)
from privatellm_operator.reconcile.token.reading import secret_facts, token_in, verifiers_among
from privatellm_operator.render import token_secret
from privatellm_operator.world.cache import World
from privatellm_operator.world.usage import KeyUsage

log = structlog.get_logger(__name__)


class TokenGatherer:
    """Reads the world around one token request."""

    def __init__(
        self, client: KubeClient, world: World, policy: TokenPolicy, usage: KeyUsage
    ) -> None:
        self._client = client
        self._world = world
        self._policy = policy
        self._usage = usage

    async def gather(self, namespace: str, name: str, now: datetime) -> TokenWorld | None:
        """Return the world around a request; ``None`` when the request is gone.

        Raises:
            InvalidObjectError: when a stored object does not fit its type.
            KubernetesError: when the API server does not answer.
        """
        manifest = self._world[kinds.API_TOKEN_REQUEST].get(namespace, name)
        if manifest is None:
            return None
        request = APITokenRequest.parse(manifest)
        known = self._picture(request, now)
        if request.metadata.is_deleting or known.namespace_leaves:
            return known
        known = replace(known, instance=await self._instance(request))
        if isinstance(known.secret, OwnSecret) and known.secret.held_key_id:
            return known
        return await self._asked(known)

    def _picture(self, request: APITokenRequest, now: datetime) -> TokenWorld:
        """Return what is known without asking; the instance is left out."""
        metadata = request.metadata
        name = token_secret_name(metadata.name)
        secret = self._world[kinds.SECRET].get(metadata.namespace, name)
        verifiers, damaged = verifiers_among(
            found
            for found in self._world[kinds.SECRET].find(metadata.uid)
            # The customer's Secret is found by the same UID, as its owner's.
            if found["metadata"]["namespace"] == self._policy.token_namespace
        )
        return TokenWorld(
            request=request,
            instance=None,
            verifiers=verifiers,
            damaged=damaged,
            secret=secret_facts(secret, request, verifiers) if secret else NoSecret(),
            now=now,
            older_siblings=self._older_siblings(request),
            last_used=self._usage.of(verifiers, now),
            namespace_leaves=self._world.namespace_leaves(metadata.namespace),
        )

    def _older_siblings(self, request: APITokenRequest) -> int:
        if self._policy.most_requests is None:
            return 0
        return self._world[kinds.API_TOKEN_REQUEST].older_siblings(request.metadata)

    async def _instance(self, request: APITokenRequest) -> InstanceFacts | None:
        namespace, name = request.metadata.namespace, request.spec.instance_name
        known = self._world[kinds.LLM_INSTANCE].get(namespace, name)
        manifest = known or await self._client.get(kinds.LLM_INSTANCE, name, namespace)
        if manifest is None:
            return None
        instance = LLMInstance.parse(manifest)
        if instance.metadata.is_deleting:
            return None
        return InstanceFacts(instance.metadata.uid, instance.status.phase)

    async def _asked(self, known: TokenWorld) -> TokenWorld:
        """Return the world with the Secret, and the verifier of the key in it, as they are now."""
        request = known.request
        name, namespace = token_secret_name(request.metadata.name), request.metadata.namespace
        try:
            secret = await self._client.get(kinds.SECRET, name, namespace)
        except ForbiddenError as error:
            _note_refusal(request, error)
            return replace(known, secret=HiddenSecret(str(error)))
        if secret is None:
            return replace(known, secret=await self._no_secret(known))
        verifiers = (*known.verifiers, *await self._overlooked(known, secret))
        facts: SecretFacts = secret_facts(secret, request, verifiers)
        return replace(known, secret=facts, verifiers=verifiers)

    async def _overlooked(self, known: TokenWorld, secret: Manifest) -> tuple[Verifier, ...]:
        """Return the verifier of the key in a Secret, where the picture lacks it."""
        token = token_in(secret)
        if token is None or token.key_id in {v.key_id for v in known.verifiers}:
            return ()
        name = verifier_name(token.key_id)
        found = await self._client.get(kinds.SECRET, name, self._policy.token_namespace)
        verifiers, _damaged = verifiers_among([found] if found else [])
        return tuple(v for v in verifiers if v.request_uid == known.request.metadata.uid)

    async def _no_secret(self, known: TokenWorld) -> NoSecret:
        request, instance = known.request, known.instance
        if instance is None or request.spec.revoked:
            return NoSecret()
        endpoint = self._policy.endpoint(instance.uid)
        trial = token_secret.new_secret(request, endpoint, None)
        try:
            await self._client.create(kinds.SECRET, trial, dry_run=True)
        except ForbiddenError as error:
            _note_refusal(request, error)
            return NoSecret(str(error))
        return NoSecret()


def _note_refusal(request: APITokenRequest, error: ForbiddenError) -> None:
    # The status says it without what names the platform; whoever grants rights needs every word.
    metadata = request.metadata
    log.info("Secret refused", object=f"{metadata.namespace}/{metadata.name}", error=str(error))
