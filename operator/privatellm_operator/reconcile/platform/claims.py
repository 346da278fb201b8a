"""Claims that keep weights: one for each model and namespace, shared by the instances that use it.

A claim belongs to all its users and to none alone, so it has a key and a pass of its own. Its users are
its owners: the garbage collector frees it after the last one, and this pass does when the last one chose
another model. While a pod still mounts it, Kubernetes keeps it.

A tenant's claim of that name is not adopted, and is never deleted. The size is chosen once: claims cannot
shrink, and another file gets another claim.
"""

import structlog

from privatellm import labels
from privatellm.api.llm_model import LLMModel
from privatellm.errors import ConflictError, InvalidObjectError
from privatellm.kube import Manifest, PatchType, kinds
from privatellm.names import claim_name
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.instance.apply import NEVER_A_VERSION
from privatellm_operator.reconcile.matching import lacks
from privatellm_operator.reconcile.restoring import restoration
from privatellm_operator.render import cache
from privatellm_operator.render.cache import is_ours
from privatellm_operator.render.source import weights_of
from privatellm_operator.world.watched import in_namespace

log = structlog.get_logger(__name__)


class ClaimReconciler:
    """Keeps each claim for as long as it has users."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._store = context.world[kinds.PERSISTENT_VOLUME_CLAIM]

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass over the claim of that name."""
        live = self._store.get(key.namespace, key.name)
        if live is not None and not is_ours(live):
            live = await self._look(key)
        if live is not None and (not is_ours(live) or live["metadata"].get("deletionTimestamp")):
            # Somebody else's, or on its way out; an end that we can see is an event.
            return None
        model, users = self._users(key)
        if model is not None:
            await self._keep(key, live, model, users)
        elif live is not None:
            await self._context.client.delete(
                kinds.PERSISTENT_VOLUME_CLAIM, key.name, key.namespace, uid=live["metadata"]["uid"]
            )
        return None

    def _users(self, key: Key) -> tuple[LLMModel | None, list[Manifest]]:
        """Return the model that the claim is for and the instances that use it; ``None`` without any."""
        chosen = self._context.settings.cache
        instances = self._context.world[kinds.LLM_INSTANCE].find(in_namespace(key.namespace, ""))
        for name in sorted({str((i.get("spec") or {}).get("model", "")) for i in instances}):
            model = self._model(name)
            if model is None or not cache.has_own_claim(model, chosen):
                continue
            if claim_name(weights_of(model)) == key.name and _is_allowed(model, key.namespace):
                return model, [i for i in instances if i["spec"].get("model") == name]
        return None, []

    def _model(self, name: str) -> LLMModel | None:
        manifest = self._context.world[kinds.LLM_MODEL].get("", name)
        try:
            return LLMModel.parse(manifest) if manifest else None
        except InvalidObjectError:
            return None

    async def _keep(
        self, key: Key, live: Manifest | None, model: LLMModel, users: list[Manifest]
    ) -> None:
        desired = cache.claim(model, self._context.settings.cache, key.namespace, users)
        if live is None:
            await self._create(key, desired)
            return
        desired["spec"] = {name: live["spec"][name] for name in desired["spec"]}
        if lacks(live, desired):
            guard = {"uid": live["metadata"]["uid"]}
            guarded = desired | {"metadata": desired["metadata"] | guard}
            live = await self._context.client.apply(
                kinds.PERSISTENT_VOLUME_CLAIM, guarded, field_manager=labels.FIELD_MANAGER
            )
            self._context.wrote(kinds.PERSISTENT_VOLUME_CLAIM, live, by=key)
        if _owners(live) != _owners(desired):
            await self._leave_to(key, live, desired)

    async def _leave_to(self, key: Key, live: Manifest, desired: Manifest) -> None:
        """Take away owners that are no users: applying does not, and they would keep the claim for ever."""
        answer = await self._context.client.patch(
            kinds.PERSISTENT_VOLUME_CLAIM,
            key.name,
            key.namespace,
            restoration(live, {"metadata": desired["metadata"]}),
            patch_type=PatchType.JSON,
            field_manager=labels.FIELD_MANAGER,
        )
        self._context.wrote(kinds.PERSISTENT_VOLUME_CLAIM, answer, by=key)

    async def _create(self, key: Key, desired: Manifest) -> None:
        guard = {"resourceVersion": NEVER_A_VERSION}
        guarded = desired | {"metadata": desired["metadata"] | guard}
        try:
            answer = await self._context.client.apply(
                kinds.PERSISTENT_VOLUME_CLAIM, guarded, field_manager=labels.FIELD_MANAGER
            )
        except ConflictError:
            log.warning("a claim of others has the name of a cache", object=key.label)
            await self._look(key)
            return
        self._context.wrote(kinds.PERSISTENT_VOLUME_CLAIM, answer, by=key)

    async def _look(self, key: Key) -> Manifest | None:
        """Ask the API server about the claim and take note of the answer."""
        live = await self._context.client.get(
            kinds.PERSISTENT_VOLUME_CLAIM, key.name, key.namespace
        )
        self._store.correct(key.namespace, key.name, live)
        return self._store.get(key.namespace, key.name)


def _is_allowed(model: LLMModel, namespace: str) -> bool:
    allowed = model.spec.allowed_namespaces
    return not allowed or namespace in allowed


def _owners(claim: Manifest) -> set[str]:
    return {owner["uid"] for owner in claim["metadata"].get("ownerReferences") or ()}
