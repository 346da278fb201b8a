"""Every reason that a condition of an instance can carry, with what it means."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a condition has its status; events carry the same reasons."""

    ACCEPTED = "Accepted"
    """The order can be fulfilled."""

    CLUSTER_REF_NOT_SUPPORTED = "ClusterRefNotSupported"
    """``spec.clusterRef`` is set, which is not implemented."""

    UNKNOWN_MODEL = "UnknownModel"
    """The catalogue has no model of that name."""

    INVALID_MODEL = "InvalidModel"
    """The catalogue's entry itself breaks its rules."""

    MODEL_LEAVES = "ModelLeaves"
    """The model is being removed from the catalogue and takes no new instances."""

    MODEL_NOT_ALLOWED = "ModelNotAllowed"
    """The model is reserved for other namespaces."""

    TOO_MANY_REPLICAS = "TooManyReplicas"
    """More replicas than the platform allows."""

    QUOTA_EXCEEDED = "QuotaExceeded"
    """The namespace has as many instances as the platform allows."""

    CHILD_CONFLICT = "ChildConflict"
    """An object that is not ours has the name of a child."""

    PREDECESSOR_LEAVES = "PredecessorLeaves"
    """What an earlier instance of that name left is still being removed."""

    NOT_ACCEPTED = "NotAccepted"
    """Nothing more can be said before the order is accepted."""

    WRITE_REFUSED = "WriteRefused"
    """The API server refused to store a child."""

    STOPPED = "Stopped"
    """The order is for no replicas."""

    FETCHED = "Fetched"
    """The weights are in the pod and fit their checksum, if there is one."""

    FETCHING = "Fetching"
    """The weights are on their way."""

    SOURCE_FAILING = "SourceFailing"
    """The source of the weights fails, and the platform tries again."""

    FETCH_PENDING = "FetchPending"
    """The fetch of the weights has not begun."""

    FETCH_FAILED = "FetchFailed"
    """The fetcher failed without saying why."""

    PROGRAMMED = "Programmed"
    """Service, middlewares and Ingress are as wanted."""

    TRAEFIK_MISSING = "TraefikMissing"
    """The cluster does not know Traefik's custom resources."""

    MIDDLEWARES_MISSING = "MiddlewaresMissing"
    """The shared middlewares do not exist yet."""

    READY = "Ready"
    """All servers answer."""

    ROLLING = "Rolling"
    """At least one server answers while others start or are replaced."""

    PENDING = "Pending"
    """Nothing was applied yet."""

    STARTING = "Starting"
    """No server answers yet, and nothing is known to be wrong."""

    IMAGE_PULL_FAILED = "ImagePullFailed"
    """A container's image cannot be had."""

    OUT_OF_MEMORY = "OutOfMemory"
    """The server was killed because it used more memory than its limit."""

    CRASH_LOOP = "CrashLoop"
    """The server ends again and again."""

    CONTAINER_REFUSED = "ContainerRefused"
    """The node cannot create the container from its configuration."""

    UNSCHEDULABLE = "Unschedulable"
    """No node has room for a server."""

    VOLUME_NOT_BOUND = "VolumeNotBound"
    """The claim that holds the weights is missing or has no volume."""

    EVICTED = "Evicted"
    """A node threw a server out."""

    PODS_REFUSED = "PodsRefused"
    """The API server does not let the Deployment create pods."""

    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """The servers did not become ready in the time they are given."""

    TERMINATING = "Terminating"
    """The instance is being deleted."""


PROGRESS = frozenset(
    {
        Reason.PENDING,
        Reason.PREDECESSOR_LEAVES,
        Reason.STARTING,
        Reason.FETCHING,
        Reason.FETCH_PENDING,
        Reason.MIDDLEWARES_MISSING,
    }
)
"""Reasons of a condition that is not true *yet*: nothing is known to be wrong."""

MAY_HEAL = frozenset(
    {Reason.UNSCHEDULABLE, Reason.VOLUME_NOT_BOUND, Reason.EVICTED, Reason.SOURCE_FAILING}
)
"""Reasons that somebody may have to act upon, and that may as well end without anybody: a node is added, a
volume is bound, a neighbour goes, a hub comes back. They are believed to until the Deployment's or the
fetch's time is up."""

CALM = PROGRESS | {Reason.STOPPED, Reason.TERMINATING, Reason.NOT_ACCEPTED}
"""Reasons of a condition that is not true without anybody having to act because of it."""
