"""Writing objects whose specs are ours alone; every answer is noted, so that its echo is no news."""

from collections.abc import Mapping

from privatellm import labels
from privatellm.errors import RejectedError
from privatellm.kube import Manifest, PatchType
from privatellm.kube.kinds import Kind
from privatellm_operator.context import ProcessContext
from privatellm_operator.reconcile.matching import exceeds
from privatellm_operator.reconcile.restoring import restoration


class OwnedWriter:
    """Applies what we want, and takes away what others added to it."""

    def __init__(self, context: ProcessContext) -> None:
        self._client = context.client
        self._world = context.world
        self._answers = context.answers

    async def apply(self, kind: Kind, manifest: Manifest, guard: Mapping[str, str]) -> None:
        """Make an object what it should be.

        What somebody put there is taken away before anything of ours is added to it: merged with what we
        want it could do harm for a moment, as a certificate does in an Ingress that gets the edge's class.
        What came after our look can contradict what we want, such as a second source of a volume or the
        other bound of a budget; merging the two is refused, and then it is taken away first as well.

        Args:
            kind: Its kind.
            manifest: All that we want of it.
            guard: Metadata that the stored object must have, such as its UID.

        Raises:
            ConflictError: when it has not.
            KubernetesError: when the API server refuses or does not answer.
        """
        guarded = manifest | {"metadata": manifest["metadata"] | guard}
        known = self._meant(kind, manifest, guard)
        is_cleared = False
        if known is not None and exceeds(known, manifest):
            await self.restore(kind, known, manifest)
            is_cleared = True
        try:
            answer = await self._client.apply(kind, guarded, field_manager=labels.FIELD_MANAGER)
        except RejectedError:
            live = self._meant(kind, manifest, guard)
            if live is None or is_cleared:
                raise
            await self.restore(kind, live, manifest)
            answer = await self._client.apply(kind, guarded, field_manager=labels.FIELD_MANAGER)
        self._world[kind].put(answer)
        if exceeds(answer, manifest) and not is_cleared:
            await self.restore(kind, answer, manifest)
        else:
            self._answers.note(kind, manifest, answer)

    def _meant(self, kind: Kind, manifest: Manifest, guard: Mapping[str, str]) -> Manifest | None:
        """Return the object as we know it, if it is the one that may be written."""
        metadata = manifest["metadata"]
        known = self._world[kind].get(metadata["namespace"], metadata["name"])
        if known is None or "resourceVersion" in guard:
            return None
        uid = known["metadata"]["uid"]
        return known if guard.get("uid", uid) == uid else None

    async def restore(self, kind: Kind, live: Manifest, manifest: Manifest) -> None:
        """Take away what others added where we decide alone.

        Args:
            kind: The object's kind.
            live: The object as it is; only this one is changed.
            manifest: All that we want of it.

        Raises:
            ConflictError: when another object has the name by now.
            KubernetesError: when the API server refuses or does not answer.
        """
        metadata = live["metadata"]
        answer = await self._client.patch(
            kind,
            metadata["name"],
            metadata["namespace"],
            restoration(live, manifest),
            patch_type=PatchType.JSON,
            field_manager=labels.FIELD_MANAGER,
        )
        self._world[kind].put(answer)
        self._answers.note(kind, manifest, answer)
