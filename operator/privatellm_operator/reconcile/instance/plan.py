"""What a pass may do to the children, as values."""

from dataclasses import dataclass, field

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.reconcile.instance.checks import Fault


@dataclass(frozen=True, slots=True)
class Write:
    """Apply a child.

    Attributes:
        kind: Its kind.
        name: Its name.
        uid: UID of the object that is there; ``None`` when there must be none.
        manifest: All that we want of it.
    """

    kind: Kind
    name: str
    uid: str | None
    manifest: Manifest = field(repr=False)


@dataclass(frozen=True, slots=True)
class Restore:
    """Take away what somebody added to a child where we decide alone.

    Attributes:
        kind: The child's kind.
        name: Its name.
        live: The child as it is.
        manifest: All that we want of it.
    """

    kind: Kind
    name: str
    live: Manifest = field(repr=False)
    manifest: Manifest = field(repr=False)

    @property
    def uid(self) -> str:
        """UID of the child."""
        return str(self.live["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Strip:
    """Remove labels and annotations that somebody smuggled onto a child.

    Attributes:
        kind: The child's kind.
        name: Its name.
        uid: Its UID.
        keys: What to remove, by metadata field.
    """

    kind: Kind
    name: str
    uid: str
    keys: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a child that is not wanted any more."""

    kind: Kind
    name: str
    uid: str


Step = Write | Restore | Strip | Delete


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to the children.

    Attributes:
        fault: Why the order is not accepted; ``None`` when it is.
        delay: Why an accepted order has to wait before anything is written; ``None`` when it has not.
        steps: In the order in which they are carried out; empty in a settled world.
        look_again_after: Seconds until a look is due that no event asks for; ``None`` for never.
    """

    fault: Fault | None = None
    delay: Fault | None = None
    steps: tuple[Step, ...] = ()
    look_again_after: float | None = None
