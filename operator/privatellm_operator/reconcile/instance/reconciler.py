"""One pass over one instance, as a ladder."""

import contextlib
from dataclasses import replace

from privatellm import labels
from privatellm.api.llm_instance import LLMInstanceStatus
from privatellm.errors import (
    ConflictError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    RejectedError,
)
from privatellm.kube import kinds
from privatellm.telemetry import passes
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.events import EventRecorder
from privatellm_operator.reconcile.instance.announcements import announcements
from privatellm_operator.reconcile.instance.apply import InstanceWriter
from privatellm_operator.reconcile.instance.decide import decide
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.gather import InstanceGatherer
from privatellm_operator.reconcile.instance.plan import Plan, Step
from privatellm_operator.reconcile.instance.status import (
    Outcome,
    refusal_text,
    status_of,
    terminating,
)
from privatellm_operator.reconcile.revocation import InstanceRevoker
from privatellm_operator.world.watched import controller_of


class _MetAnotherError(ConflictError):
    """A child is another object than the one that the plan was made for."""


class InstanceReconciler:
    """Keeps one instance's children and status as they should be."""

    def __init__(self, context: ProcessContext, revoker: InstanceRevoker) -> None:
        self._context = context
        self._revoker = revoker
        self._gatherer = InstanceGatherer(
            context.client, context.world, context.settings, context.progress, context.answers
        )
        self._writer = InstanceWriter(context)
        self._recorder = EventRecorder(context.client, context.clock, context.settings.pod.name)

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass and return the seconds until a look is due that no event asks for.

        A child that was somebody else's after all is decided upon at once, with everything else that has a
        child's name: what is told of it must not wait for a pass that failed to come back.
        """
        try:
            return await self._pass(key)
        except _MetAnotherError:
            return await self._pass(key)

    async def _pass(self, key: Key) -> float | None:
        with passes.step("gather"):
            world = await self._gatherer.gather(key.namespace, key.name, self._context.clock())
        if world is None:
            self._context.obstacles.watch(key, ())
            return None
        # Deletion first: nothing that can fail may stand in its way.
        if world.ends:
            self._context.obstacles.watch(key, ())
            await (self._release if world.instance.metadata.is_deleting else self._close)(world)
            return None
        if labels.INSTANCE_FINALIZER not in world.instance.metadata.finalizers:
            world = replace(
                world, instance=await self._writer.finalize(world.instance, present=True)
            )
        self._ask_for_claim(world)
        self._context.obstacles.watch(key, world.obstacles())
        with passes.step("decide"):
            plan = self._decide(world)
        refusal = await self._carry_out(world, plan)
        if plan.steps:
            world = await self._gatherer.gather(key.namespace, key.name, world.now) or world
        await self._report(world, Outcome(plan.fault, refusal_text(refusal), plan.delay))
        if refusal is not None:
            raise refusal
        return plan.look_again_after

    def _ask_for_claim(self, world: InstanceWorld) -> None:
        """Have the claim looked after; the Deployment waits until it is there."""
        if world.claim is not None:
            namespace = world.instance.metadata.namespace
            key = Key(kinds.PERSISTENT_VOLUME_CLAIM, namespace, world.claim.name)
            self._context.queue.add(key)

    def _decide(self, world: InstanceWorld) -> Plan:
        context = self._context
        backend_key = context.platform_key.backend_key(world.instance.metadata.uid)
        return decide(world, context.settings, backend_key)

    async def _carry_out(self, world: InstanceWorld, plan: Plan) -> KubernetesError | None:
        """Do the steps up to the first refusal and return it.

        What a later attempt may heal ends the pass at once; a refusal belongs into the status.
        """
        for step in plan.steps:
            try:
                await self._writer.carry_out(step, world.instance.metadata.namespace)
            except (ConflictError, NotFoundError, RejectedError) as error:
                await self._see_what_it_met(world, step, error)
                return error
            except KubernetesError as error:
                if error.retryable:
                    raise
                return error
        return None

    async def _see_what_it_met(
        self, world: InstanceWorld, step: Step, error: KubernetesError
    ) -> None:
        """Look at the child itself, so that the next pass decides on what is there.

        Raises:
            ConflictError: when it is another object than the step was meant for.
        """
        live = await self._gatherer.look_at(world.instance, step.kind, step.name)
        if (
            isinstance(error, ConflictError)
            or (live or {}).get("metadata", {}).get("uid") != step.uid
        ):
            await self._gatherer.look_around(world.instance)
            message = f"{step.kind.name} {step.name} is not the object that was expected: {error}"
            raise _MetAnotherError(message, status=error.status, reason=error.reason) from error

    async def _close(self, world: InstanceWorld) -> None:
        """End keys and routes of an instance whose namespace goes, long before its own turn comes.

        Kubernetes deletes the pods of such a namespace first and waits for their end, and everything else
        afterwards. Where our right goes before the route does, Kubernetes deletes that, too.
        """
        await self._revoker.revoke_instance(world.instance.metadata.uid)
        with contextlib.suppress(ForbiddenError):
            for (kind, name), live in world.children.items():
                if kind is kinds.INGRESS and world.is_ours(live):
                    await self._writer.remove(kind, name, live)
        await self._say(world, terminating(world))

    async def _release(self, world: InstanceWorld) -> None:
        """End every key of the instance, then let it go."""
        instance = world.instance
        if labels.INSTANCE_FINALIZER in instance.metadata.finalizers:
            await self._revoker.revoke_instance(instance.metadata.uid)
            if not world.namespace_leaves:
                await self._remove_strays(world)
            try:
                instance = await self._writer.finalize(instance, present=False)
            except NotFoundError:
                return
        if instance.metadata.finalizers:
            # Somebody else's finalizer holds it; until then it says what is going on.
            await self._say(replace(world, instance=instance), terminating(world))

    async def _remove_strays(self, world: InstanceWorld) -> None:
        """Delete children that name no owner any more, because no garbage collector would.

        A namespace that goes takes them along, and perhaps our right to delete them before.
        """
        for (kind, name), live in world.children.items():
            if world.is_ours(live) and controller_of(live) is None:
                await self._writer.remove(kind, name, live)

    async def _report(self, world: InstanceWorld, outcome: Outcome) -> None:
        await self._say(world, status_of(world, outcome, self._context.settings.public))

    async def _say(self, world: InstanceWorld, status: LLMInstanceStatus) -> None:
        """Write the status when it says anything new, and announce what changed."""
        instance = world.instance
        if status == instance.status:
            return
        await self._writer.report(instance, status)
        reference = {
            "apiVersion": kinds.LLM_INSTANCE.api_version,
            "kind": kinds.LLM_INSTANCE.name,
            "metadata": instance.metadata.to_kubernetes(),
        }
        for announcement in announcements(instance.status.conditions, status.conditions):
            await self._recorder.record(reference, announcement)
