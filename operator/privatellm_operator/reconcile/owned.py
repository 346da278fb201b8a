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

        What somebody put there can contradict what we want, such as a second source of a volume or the
        other bound of a budget. Applying would merge the two, and is refused; then what is ours alone is
        put back whole first.

        Args:
            kind: Its kind.
            manifest: All that we want of it.
            guard: Metadata that the stored object must have, such as its UID.

        Raises:
            ConflictError: when it has not.
            KubernetesError: when the API server refuses or does not answer.
        """
        guarded = manifest | {"metadata": manifest["metadata"] | guard}
        try:
            answer = await self._client.apply(kind, guarded, field_manager=labels.FIELD_MANAGER)
        except RejectedError:
            live = self._world[kind].get(
                manifest["metadata"]["namespace"], manifest["metadata"]["name"]
            )
            if live is None:
                raise
            await self.restore(kind, live, manifest)
            answer = await self._client.apply(kind, guarded, field_manager=labels.FIELD_MANAGER)
        self._world[kind].put(answer)
        if exceeds(answer, manifest):
            await self.restore(kind, answer, manifest)
        else:
            self._answers.note(kind, manifest, answer)

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
