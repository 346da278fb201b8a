"""Taking note of a change, wherever it came from."""

from dataclasses import dataclass

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.world.cache import World
from privatellm_operator.world.routing import keys_of


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Keeps the world up to date and asks for the passes that a change makes necessary.

    Attributes:
        world: Where the change is noted.
        queue: Where keys go.
        platform: The key of what all instances share.
    """

    world: World
    queue: WorkQueue
    platform: Key

    def note(self, kind: Kind, event_type: str | None, manifest: Manifest) -> None:
        """Take note of one event; what is known already causes no pass.

        What depended on the object as it was is asked for as well: a child that was taken from its owner,
        or an instance that left a model, does not name them any more.
        """
        metadata = manifest["metadata"]
        before = self.world[kind].get(metadata.get("namespace", ""), metadata["name"])
        if not self.world.observe(kind, event_type, manifest):
            return
        if before is not None:
            self.enqueue(kind, before)
        self.enqueue(kind, manifest)

    def enqueue(self, kind: Kind, manifest: Manifest) -> None:
        """Ask for a pass over everything that depends on a changed object."""
        for key in keys_of(kind, manifest, self.world, self.platform):
            self.queue.add(key)
