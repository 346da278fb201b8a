"""Carry a plan out, step by step, and take note of every answer in the operator's picture.

Each write is guarded by what it was decided on: the request by its resource version, the Secret by UID and
resource version, a verifier by being created and never changed. A refused guard is a ``ConflictError``, the
pass ends there and the queue comes back with fresh eyes.

This is the only module that holds a plaintext: from the moment it is minted until it is in the customer's
Secret, in one local variable.
"""

from passlib.context import CryptContext

from privatellm import labels
from privatellm.api.api_token_request import APITokenRequest, APITokenRequestStatus
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import slug_of, token_secret_name
from privatellm.tokens import Token, new_key_id
from privatellm.verifiers import Verifier, hash_profile
from privatellm_operator.reconcile.events import Announcement, EventRecorder
from privatellm_operator.reconcile.token.facts import (
    OwnSecret,
    SecretFacts,
    TokenPolicy,
    TokenWorld,
)
from privatellm_operator.reconcile.token.plan import (
    AddFinalizer,
    IssueKey,
    Occasion,
    PatchSecret,
    Plan,
    RemoveFinalizer,
    RemoveVerifier,
    Step,
    WriteStatus,
)
from privatellm_operator.reconcile.token.verifier_store import VerifierStore
from privatellm_operator.render import token_secret
from privatellm_operator.world.cache import World

_NOTES = {
    Occasion.FIRST: "Issued the key {key} into the Secret {secret}.",
    Occasion.LOST: "The Secret {secret} did not hold a valid key; issued the key {key} into it.",
    Occasion.INSTANCE_RECREATED: "The instance was created anew; issued the key {key} into the "
    "Secret {secret}. Earlier keys stay dead.",
    Occasion.ROTATION: "Rotated: the Secret {secret} holds the key {key} now.",
    Occasion.EXTENSION: "The request lives longer now; issued the key {key} into the Secret {secret}. "
    "The key before it ends when it was said to.",
}


class PlanWriter:
    """Writes what a plan says."""

    def __init__(
        self,
        client: KubeClient,
        world: World,
        policy: TokenPolicy,
        verifiers: VerifierStore,
        recorder: EventRecorder,
    ) -> None:
        self._client = client
        self._world = world
        self._policy = policy
        self._verifiers = verifiers
        self._recorder = recorder
        self._hashes: CryptContext = hash_profile()

    async def carry_out(self, plan: Plan, world: TokenWorld) -> None:
        """Carry out every step of a plan, in order.

        Raises:
            ConflictError: when somebody else wrote since the world was gathered.
            KubernetesError: when the API server refuses a step or does not answer.
        """
        request = world.request
        for step in plan.steps:
            request = await self._carry_out(step, request, world.secret)

    async def _carry_out(
        self, step: Step, request: APITokenRequest, secret: SecretFacts
    ) -> APITokenRequest:
        """Carry one step out and return the request as it is after it."""
        match step:
            case RemoveVerifier(name, announcement):
                await self._verifiers.remove(name)
                await self._announce(request, announcement)
            case AddFinalizer():
                return await self._finalize(request, present=True)
            case RemoveFinalizer():
                return await self._finalize(request, present=False)
            case PatchSecret(patch):
                await self._patch_secret(request, dict(patch))
            case IssueKey():
                return await self._issue(step, request, secret)
            case WriteStatus(status, announcement):
                return await self._say(request, status, announcement)
        return request

    async def _issue(
        self, step: IssueKey, request: APITokenRequest, secret: SecretFacts
    ) -> APITokenRequest:
        """Reserve, make the key known to the edge, hand it to the customer: in this order."""
        key_id = new_key_id()
        reserved = request.status.model_copy(update={"key_id": key_id})
        request = await self._write_status(request, reserved)
        token = Token.mint(key_id)
        await self._verifiers.create(self._verifier(step, request, token))
        await self._deliver(request, secret, self._policy.endpoint(step.instance_uid), token)
        name = token_secret_name(request.metadata.name)
        note = _NOTES[step.occasion].format(key=key_id, secret=name)
        await self._announce(request, Announcement(step.occasion.value, note))
        return request

    def _verifier(self, step: IssueKey, request: APITokenRequest, token: Token) -> Verifier:
        return Verifier(
            key_id=token.key_id,
            hash=self._hashes.hash(token.secret),
            request_uid=request.metadata.uid,
            instance_uid=step.instance_uid,
            slug=slug_of(step.instance_uid),
            namespace=request.metadata.namespace,
            not_before=step.not_before,
            not_after=step.not_after,
        )

    async def _deliver(
        self, request: APITokenRequest, secret: SecretFacts, endpoint: str, token: Token
    ) -> None:
        if isinstance(secret, OwnSecret):
            patch = token_secret.with_key(secret.manifest, request, endpoint, token)
            await self._patch_secret(request, patch)
            return
        manifest = token_secret.new_secret(request, endpoint, token)
        self._world[kinds.SECRET].put(await self._client.create(kinds.SECRET, manifest))

    async def _patch_secret(self, request: APITokenRequest, patch: Manifest) -> None:
        name, namespace = token_secret_name(request.metadata.name), request.metadata.namespace
        self._world[kinds.SECRET].put(
            await self._client.patch(kinds.SECRET, name, namespace, patch)
        )

    async def _finalize(self, request: APITokenRequest, *, present: bool) -> APITokenRequest:
        metadata = request.metadata
        finalizers = [f for f in metadata.finalizers if f != labels.REQUEST_FINALIZER]
        finalizers += [labels.REQUEST_FINALIZER] if present else []
        guarded = {"resourceVersion": metadata.resource_version, "finalizers": finalizers}
        return self._noted(
            await self._client.patch(
                kinds.API_TOKEN_REQUEST, metadata.name, metadata.namespace, {"metadata": guarded}
            )
        )

    async def _say(
        self,
        request: APITokenRequest,
        status: APITokenRequestStatus,
        announcement: Announcement | None,
    ) -> APITokenRequest:
        written = await self._write_status(request, status)
        await self._announce(written, announcement)
        return written

    async def _announce(self, request: APITokenRequest, announcement: Announcement | None) -> None:
        if announcement is not None:
            await self._recorder.record(_reference(request), announcement)

    async def _write_status(
        self, request: APITokenRequest, status: APITokenRequestStatus
    ) -> APITokenRequest:
        manifest = _reference(request) | {"status": status.to_kubernetes()}
        return self._noted(await self._client.replace(kinds.API_TOKEN_REQUEST, manifest, "status"))

    def _noted(self, manifest: Manifest) -> APITokenRequest:
        self._world[kinds.API_TOKEN_REQUEST].put(manifest)
        return APITokenRequest.parse(manifest)


def _reference(request: APITokenRequest) -> Manifest:
    """Return the identity of a request, which is all that a write of its status or an event needs."""
    metadata = request.metadata
    return {
        "apiVersion": request.KIND.api_version,
        "kind": request.KIND.name,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
    }
