"""One pass over one model: finalizer, what was recorded, and the platform's own fetches.

Models belong to the cluster. An operator that serves some of its namespaces may share them with others
of its kind. So it looks only after models that its own instances use, and holds them in its own name (ADR
0064).
"""

from dataclasses import replace

import structlog

from privatellm import labels
from privatellm.api.llm_model import LLMModel, LLMModelStatus
from privatellm.errors import AlreadyExistsError, InvalidObjectError
from privatellm.kube import kinds
from privatellm.telemetry import passes
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.model.decide import JobsPlan, decide
from privatellm_operator.reconcile.model.gather import ModelGatherer
from privatellm_operator.reconcile.model.sharing import name_among_operators
from privatellm_operator.reconcile.model.status import status_of

log = structlog.get_logger(__name__)


class ModelReconciler:
    """Keeps what the platform knows about one model, and the Jobs by which it learns."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._name = name_among_operators(context.settings)
        self._gatherer = ModelGatherer(
            context.client, context.world, context.settings, context.progress
        )

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass and return the seconds until a look is due that no event asks for."""
        manifest = self._context.world[kinds.LLM_MODEL].get("", key.name)
        if manifest is None:
            return None
        try:
            model = LLMModel.parse(manifest)
        except InvalidObjectError as error:
            log.warning("model ignored", error=str(error), object=key.label)
            return None
        with passes.step("gather"):
            world = await self._gatherer.gather(model, self._context.clock())
        # A model that nobody uses may go; one that is used stays, and says who uses it.
        if not world.is_used and (model.metadata.is_deleting or world.is_shared):
            await self._finalize(model, present=False)
            if model.metadata.is_deleting:
                return None
        elif self._name.finalizer not in model.metadata.finalizers and not (
            model.metadata.is_deleting
        ):
            await self._finalize(model, present=True)
        status = model.status
        if world.is_used or not world.is_shared:
            status = status_of(world, self._context.settings.cache)
        if status != model.status:
            await self._report(model, status, key)
        known = model.model_copy(update={"status": status})
        with passes.step("decide"):
            plan = decide(replace(world, model=known), self._context.settings)
        await self._carry_out(plan, key)
        return plan.look_again_after

    async def _finalize(self, model: LLMModel, *, present: bool) -> None:
        """Set or remove our finalizer.

        Raises:
            ConflictError: when somebody else wrote since the model was read.
        """
        metadata = model.metadata
        ours = (self._name.finalizer, labels.MODEL_FINALIZER)
        finalizers = [f for f in metadata.finalizers if f not in ours]
        if not present and len(finalizers) == len(metadata.finalizers):
            return
        guarded = {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "finalizers": [*finalizers, *([self._name.finalizer] if present else [])],
        }
        answer = await self._context.client.patch(
            kinds.LLM_MODEL, metadata.name, None, {"metadata": guarded}
        )
        self._context.world[kinds.LLM_MODEL].put(answer)

    async def _report(self, model: LLMModel, status: LLMModelStatus, key: Key) -> None:
        """Write the status; instances look again, because a recorded digest concerns their next fetch."""
        manifest = {
            "apiVersion": kinds.LLM_MODEL.api_version,
            "kind": kinds.LLM_MODEL.name,
            "metadata": {"name": model.metadata.name, "uid": model.metadata.uid},
            "status": status.to_kubernetes(),
        }
        answer = await self._context.client.apply(
            kinds.LLM_MODEL, manifest, field_manager=self._name.manager, subresource="status"
        )
        if status.sha256 != model.status.sha256:
            log.info("digest recorded", object=key.label, sha256=status.sha256)
        self._context.wrote(kinds.LLM_MODEL, answer, by=key)

    async def _carry_out(self, plan: JobsPlan, key: Key) -> None:
        client, jobs = self._context.client, self._context.world[kinds.JOB]
        for manifest in plan.create:
            try:
                jobs.put(await client.create(kinds.JOB, manifest))
            except AlreadyExistsError:
                # One of that name is on its way out; its end is an event.
                log.info("job is still there", object=key.label, job=manifest["metadata"]["name"])
        for name, uid in plan.delete:
            home = self._context.settings.pod.namespace
            await client.delete(kinds.JOB, name, home, uid=uid, propagation="Background")
