"""Objects of others that have the name of something of ours: who tells when they are gone."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.queue import Key


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An object in the way.

    Attributes:
        kind: Its kind.
        namespace: Its namespace.
        name: Its name.
        version: The resource version in which it was seen.
    """

    kind: Kind
    namespace: str
    name: str
    version: str

    @classmethod
    def of(cls, kind: Kind, manifest: Manifest) -> "Obstacle":
        """Return the obstacle that an object is."""
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "")
        return cls(kind, namespace, metadata["name"], metadata["resourceVersion"])


class Obstacles(Protocol):
    """Asks for a pass as soon as something changes about an obstacle."""

    def watch(self, key: Key, obstacles: Iterable[Obstacle]) -> None:
        """Look at exactly these obstacles for an object, and at none when there are none."""


class NoObstacles:
    """Looks at nothing: whoever meets an obstacle comes back by itself."""

    def watch(self, key: Key, obstacles: Iterable[Obstacle]) -> None:
        """Look at nothing."""
