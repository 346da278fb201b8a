"""What a pass over one instance knows before it decides: frozen values, everything already fetched."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.fetches import FetchProgress
from privatellm_operator.render.cache import is_ours
from privatellm_operator.world.obstacles import Obstacle
from privatellm_operator.world.watched import belongs_to

ChildName = tuple[Kind, str]
"""Kind and name of a child in the instance's namespace."""


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """What all routes need.

    Attributes:
        traefik_defined: Whether the cluster knows Traefik's custom resources.
        middlewares: Names of the shared middlewares that exist.
    """

    traefik_defined: bool
    middlewares: frozenset[str]


@dataclass(frozen=True, slots=True)
class InstanceWorld:
    """Everything one decision needs.

    Attributes:
        instance: The instance.
        model: The model it names; ``None`` when the catalogue has none of that name or it is broken.
        model_fault: What is wrong with the catalogue's entry; empty when it is readable or absent.
        children: Live objects under the children's names, whoever owns them, and all that we own.
        pods: Pods of the instance.
        edge: What all routes need.
        older_siblings: Instances of the namespace that were there before this one.
        now: The time of the pass, aware and in UTC.
        claim: What is known of the claim that keeps the weights.
        progress: How far a fetch of the instance's pods is; ``None`` when none is known to run.
        leaving: Children's names that are taken by objects on their way out.
        answers: Fingerprints of what became of writes that others changed on their way.
        namespace_leaves: Whether the namespace is being deleted with all that is in it.
    """

    instance: LLMInstance
    model: LLMModel | None
    model_fault: str
    children: Mapping[ChildName, Manifest]
    pods: tuple[Manifest, ...]
    edge: EdgeFacts
    older_siblings: int
    now: datetime
    claim: "ClaimFacts | None" = None
    progress: FetchProgress | None = None
    leaving: frozenset[ChildName] = frozenset()
    answers: Mapping[ChildName, str] = field(default_factory=dict)
    namespace_leaves: bool = False

    def foreign(self) -> Iterator[ChildName]:
        """Yield the children's names that are taken by objects of others, for how long ever."""
        return (name for name, live in self.children.items() if not self.is_ours(live))

    def obstacles(self) -> Iterator[Obstacle]:
        """Yield everything of others that is in the instance's way."""
        yield from (Obstacle.of(name[0], self.children[name]) for name in self.foreign())
        if self.claim is not None and self.claim.live is not None and self.claim.is_foreign:
            yield Obstacle.of(kinds.PERSISTENT_VOLUME_CLAIM, self.claim.live)

    def is_ours(self, live: Manifest) -> bool:
        """Say whether an object is a child of exactly this instance."""
        return belongs_to(live, self.instance.metadata.uid)

    @property
    def ends(self) -> bool:
        """Whether the instance goes, by itself or with its namespace."""
        return self.instance.metadata.is_deleting or self.namespace_leaves

    @property
    def servers(self) -> "Servers":
        """How many model servers there are."""
        deployments = [m for (kind, _), m in self.children.items() if kind is kinds.DEPLOYMENT]
        return Servers.of(
            self.instance.spec.replicas, next(filter(self.is_ours, deployments), None)
        )


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """The claim that keeps the model's weights in the instance's namespace.

    Attributes:
        name: What it is, or will be, called.
        live: The stored claim of that name; ``None`` while there is none.
    """

    name: str
    live: Manifest | None

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else's claim has the name."""
        return self.live is not None and not is_ours(self.live)

    @property
    def is_leaving(self) -> bool:
        """Whether the claim is being deleted."""
        return self.live is not None and bool(self.live["metadata"].get("deletionTimestamp"))

    @property
    def is_usable(self) -> bool:
        """Whether pods may mount it from now on."""
        return self.live is not None and not self.is_foreign and not self.is_leaving


@dataclass(frozen=True, slots=True)
class Servers:
    """How many model servers there are, as the Deployment's controller counts them.

    Attributes:
        wanted: As ordered.
        existing: Pods that exist.
        ready: Pods that answer.
        settled: Whether exactly the wanted pods of the wanted form answer.
        applied: Whether there is a Deployment.
        troubles: The Deployment's own conditions that are bad news, message by reason.
    """

    wanted: int
    existing: int
    ready: int
    settled: bool
    applied: bool
    troubles: Mapping[str, str]

    @classmethod
    def of(cls, wanted: int, deployment: Manifest | None) -> "Servers":
        """Read the counts of a Deployment, if there is one."""
        status = (deployment or {}).get("status") or {}
        metadata = (deployment or {}).get("metadata") or {}
        existing, ready = int(status.get("replicas", 0)), int(status.get("readyReplicas", 0))
        seen = status.get("observedGeneration", 0) >= metadata.get("generation", 1)
        updated = int(status.get("updatedReplicas", 0))
        return cls(
            wanted=wanted,
            existing=existing,
            ready=ready,
            settled=seen and existing == ready == updated == wanted,
            applied=deployment is not None,
            troubles=dict(_troubles(status)),
        )


def _troubles(status: Manifest) -> Iterator[tuple[str, str]]:
    for condition in status.get("conditions") or ():
        failed = condition["type"] == "ReplicaFailure" and condition["status"] == "True"
        late = condition["type"] == "Progressing" and condition["status"] == "False"
        if failed or late:
            yield condition.get("reason", ""), condition.get("message", "")
