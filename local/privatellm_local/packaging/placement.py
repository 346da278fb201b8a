"""Values that every pod of ours has: where it runs and what it may use."""

from typing import Annotated, Any, Self

from pydantic import Field

from privatellm_local.packaging.value_types import Group

Quantities = Annotated[dict[str, str | int], Field(default_factory=dict)]

PodSecurityContext = Annotated[
    dict[str, Any],
    Field(
        default_factory=lambda: {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    ),
]
"""Security context of a pod; the default fits the `restricted` pod security standard."""


class Resources(Group):
    """Requests and limits of a container."""

    requests: Quantities
    """What the scheduler sets aside."""

    limits: Quantities
    """What the container may use."""

    @classmethod
    def of(cls, *, cpu: str, memory: str, memory_limit: str) -> Self:
        """Return requests, and a limit for memory alone: a limit for CPU would only add latency."""
        return cls(requests={"cpu": cpu, "memory": memory}, limits={"memory": memory_limit})


class Placement(Group):
    """Where the pods of one part run."""

    pod_annotations: Annotated[dict[str, str], Field(default_factory=dict)]
    """Annotations of the pods."""

    pod_labels: Annotated[dict[str, str], Field(default_factory=dict)]
    """Further labels of the pods."""

    node_selector: Annotated[dict[str, str], Field(default_factory=dict)]
    """Labels that nodes must have."""

    tolerations: tuple[dict[str, Any], ...] = ()
    """Taints that are tolerated."""

    affinity: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Affinity rules."""

    topology_spread_constraints: tuple[dict[str, Any], ...] | None = None
    """Spread rules; unset: the ForwardAuth service spreads over nodes and the others do not care."""

    priority_class_name: str = ""
    """Priority class of the pods."""
