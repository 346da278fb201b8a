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


Step = Write | Strip | Delete


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to the children.

    Attributes:
        fault: Why the order is not accepted; ``None`` when it is.
        steps: In the order in which they are carried out; empty in a settled world.
        look_again_after: Seconds until a look is due that no event asks for; ``None`` for never.
    """

    fault: Fault | None = None
    steps: tuple[Step, ...] = ()
    look_again_after: float | None = None
