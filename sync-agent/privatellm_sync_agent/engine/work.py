"""One pass over one object: what it knows, and how a rung of the ladder answers."""

from dataclasses import dataclass, field

from privatellm.kube import KubeClient, Manifest
from privatellm_sync_agent.engine.events import EventRecorder, Reason
from privatellm_sync_agent.engine.obstacles import Obstacle
from privatellm_sync_agent.engine.publication import Publication
from privatellm_sync_agent.engine.world import Used, World
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.ownership import Owner

AGAIN_AFTER_CONFLICT = 30.0
"""Seconds until a taken name is looked at again: whoever frees it makes no event that we see."""


@dataclass(frozen=True, slots=True)
class Done:
    """The pass ends here.

    Attributes:
        again_after: Seconds after which another pass is wanted even if nothing is seen to change.
    """

    again_after: float | None = None


Verdict = Done | None
"""A rung's answer: ``None`` means that the next rung is climbed."""


@dataclass(slots=True)
class Work:
    """What one pass knows; rungs put the answers to their writes here for the rungs above them.

    Attributes:
        publication: What is synced and how.
        world: Both sides.
        workspace: Client for the object's workspace.
        recorder: For events on the object.
        identity: Which object this is about.
        remote: The object in the workspace.
        local: Its copy, if it has one.
        cluster_path: Path of the workspace, when the provider asked for it.
        uses: The related objects that this one depends on.
        obstacles: What this pass met of other people's objects in the way.
        again_after: Seconds after which another pass is wanted; what stops this one is out of sight.
    """

    publication: Publication
    world: World
    workspace: KubeClient
    recorder: EventRecorder
    identity: Identity
    remote: Manifest
    local: Manifest | None
    cluster_path: str = ""
    uses: set[Used] = field(default_factory=set)
    obstacles: list[Obstacle] = field(default_factory=list)
    again_after: float | None = None

    @property
    def service(self) -> KubeClient:
        """The client for the service cluster."""
        return self.world.service

    @property
    def owner(self) -> Owner:
        """Whose copy the local object is."""
        return Owner(
            self.publication.agent,
            self.identity,
            str(self.remote["metadata"]["uid"]),
            self.cluster_path,
        )

    @property
    def is_deleting(self) -> bool:
        """Whether the customer deleted the object."""
        return "deletionTimestamp" in self.remote["metadata"]

    def tell(self, reason: Reason, message: str) -> None:
        """Put an event on the customer's object."""
        self.recorder.tell(self.workspace, self.remote, reason, message)

    def meet(self, obstacle: Obstacle) -> None:
        """Tell of an obstacle, by an event now and by a condition in the end, and look again later."""
        self.obstacles.append(obstacle)
        self.again_after = AGAIN_AFTER_CONFLICT
        self.tell(obstacle.reason, obstacle.message)
