"""Carry a plan out and take note of every answer, so that its echo is no news.

Everything is server-side apply under our field manager; what that leaves of others where we decide alone is
taken away by a patch (see :mod:`~privatellm_operator.reconcile.restoring`). Two guards make adoption
impossible without a look before each write: a child that should not exist yet is applied with a resource
version that no object can have, which the API server takes as "create only"; one that exists is applied
with its UID.
"""

from privatellm import labels
from privatellm.api.llm_instance import LLMInstance, LLMInstanceStatus
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.instance.plan import Delete, Restore, Step, Strip, Write
from privatellm_operator.reconcile.owned import OwnedWriter

NEVER_A_VERSION = "1"
"""etcd counts from 1 for the empty store, so its first object has version 2. An apply that expects version
1 conflicts with every object there is and creates where there is none."""


class InstanceWriter:
    """Writes an instance, its status and its children."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._client = context.client
        self._world = context.world
        self._owned = OwnedWriter(context)

    async def carry_out(self, step: Step, namespace: str) -> None:
        """Do one step.

        Raises:
            ConflictError: when the child is not the one that the plan was made for.
            KubernetesError: when the API server refuses or does not answer.
        """
        match step:
            case Write(kind, _, uid, manifest):
                guard = {"uid": uid} if uid else {"resourceVersion": NEVER_A_VERSION}
                await self._owned.apply(kind, manifest, guard)
            case Restore(kind, _, live, manifest):
                await self._owned.restore(kind, live, manifest)
            case Strip(kind, name, uid, keys):
                metadata: Manifest = {field: dict.fromkeys(names) for field, names in keys.items()}
                patch = {"metadata": metadata | {"uid": uid}}
                self._note(kind, await self._client.patch(kind, name, namespace, patch))
            case Delete(kind, name, uid):
                await self._client.delete(kind, name, namespace, uid=uid)

    async def remove(self, kind: Kind, name: str, live: Manifest) -> None:
        """Delete a child that is there, unless that is under way.

        Raises:
            ConflictError: when another object has the name by now.
        """
        metadata = live["metadata"]
        if not metadata.get("deletionTimestamp"):
            await self._client.delete(kind, name, metadata["namespace"], uid=metadata["uid"])

    async def finalize(self, instance: LLMInstance, *, present: bool) -> LLMInstance:
        """Set or remove our finalizer and return the instance after that.

        Raises:
            ConflictError: when somebody else wrote since the instance was read.
        """
        metadata = instance.metadata
        finalizers = [f for f in metadata.finalizers if f != labels.INSTANCE_FINALIZER]
        finalizers += [labels.INSTANCE_FINALIZER] if present else []
        guarded = {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "finalizers": finalizers,
        }
        answer = await self._client.patch(
            kinds.LLM_INSTANCE, metadata.name, metadata.namespace, {"metadata": guarded}
        )
        self._note(kinds.LLM_INSTANCE, answer)
        return LLMInstance.parse(answer)

    async def report(self, instance: LLMInstance, status: LLMInstanceStatus) -> None:
        """Write the status; keys that wait for the instance look again."""
        metadata = instance.metadata
        manifest = {
            "apiVersion": kinds.LLM_INSTANCE.api_version,
            "kind": kinds.LLM_INSTANCE.name,
            "metadata": {
                "name": metadata.name,
                "namespace": metadata.namespace,
                "uid": metadata.uid,
            },
            "status": status.to_kubernetes(),
        }
        answer = await self._client.apply(
            kinds.LLM_INSTANCE,
            manifest,
            field_manager=labels.FIELD_MANAGER,
            subresource="status",
        )
        own = Key(kinds.LLM_INSTANCE, metadata.namespace, metadata.name)
        self._context.wrote(kinds.LLM_INSTANCE, answer, by=own)

    def _note(self, kind: Kind, answer: Manifest) -> None:
        self._world[kind].put(answer)
