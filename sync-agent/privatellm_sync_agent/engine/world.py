"""What a pass may look at: the stores of both sides and a way to write to each.

Reads for comparing come from the stores; whoever destroys something reads it live first.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine.store import Store, metadata_only
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.ownership import remote_identity
from privatellm_sync_agent.published.spec import GroupKind

CLUSTER_ANNOTATION = "kcp.io/cluster"
PATH_ANNOTATION = "kcp.io/path"

NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
LOGICAL_CLUSTER = Kind(
    "core.kcp.io", "v1alpha1", "LogicalCluster", "logicalclusters", namespaced=False
)


def copy_keys(local: Manifest) -> Iterable[Hashable]:
    """Index local copies by the object they mirror and by their own UID."""
    identity = remote_identity(local)
    return (local["metadata"]["uid"], *([identity] if identity else []))


def primary_keys(remote: Manifest) -> Iterable[Hashable]:
    """Index published objects by their workspace, their namespace in it and their UID."""
    identity = Identity.of(remote)
    return (
        identity.cluster,
        (identity.cluster, identity.namespace),
        remote["metadata"].get("uid", ""),
    )


@dataclass(slots=True)
class Endpoint:
    """One shard's virtual workspace, with what its informers know.

    Attributes:
        url: The endpoint's URL as the endpoint slice gives it.
        kcp: The agent's client for kcp, which lends its connections.
        primaries: The published objects of all its workspaces.
        namespaces: Their namespaces, when a filter asks for them.
        clusters: Their LogicalClusters, when workspace paths are asked for.
        bindings: Their bindings to the export.
    """

    url: str
    kcp: KubeClient
    primaries: Store = field(default_factory=lambda: Store(primary_keys))
    namespaces: Store = field(default_factory=lambda: Store(trim=metadata_only))
    clusters: Store = field(default_factory=lambda: Store(trim=metadata_only))
    bindings: Store = field(default_factory=lambda: Store(primary_keys, metadata_only))

    def wildcard(self) -> KubeClient:
        """Return a client that lists and watches all workspaces at once."""
        return self.workspace("*")

    def workspace(self, cluster: str) -> KubeClient:
        """Return a client for one workspace; URLs of endpoints are put together here and nowhere else."""
        return self.kcp.at(f"{self.url.rstrip('/')}/clusters/{cluster}")


CopiedKinds = Callable[[], frozenset[GroupKind]]
"""Tells of which kinds of the service cluster this agent makes copies, for any published resource."""


def no_kinds() -> frozenset[GroupKind]:
    """Return nothing, for a resource that is published alone."""
    return frozenset()


Used = tuple[Kind, Identity]
"""A related object of either side; the cluster of one in the service cluster is empty."""


class Uses:
    """Which published objects depend on which related ones, so that a change leads back to them."""

    def __init__(self) -> None:
        self._used_by: dict[Used, set[Identity]] = {}
        self._uses: dict[Identity, frozenset[Used]] = {}

    def note(self, user: Identity, used: Iterable[Used]) -> None:
        """Record all that an object uses now, in place of what was recorded before."""
        for one in self._uses.pop(user, frozenset()):
            users = self._used_by[one]
            users.discard(user)
            if not users:
                del self._used_by[one]
        wanted = self._uses[user] = frozenset(used)
        for one in wanted:
            self._used_by.setdefault(one, set()).add(user)

    def of(self, user: Identity) -> frozenset[Used] | None:
        """Return what an object uses; ``None`` while nothing was recorded of it since the start."""
        return self._uses.get(user)

    def users_of(self, used: Used) -> tuple[Identity, ...]:
        """Return the objects that use a related one."""
        return tuple(self._used_by.get(used, ()))


@dataclass(slots=True)
class World:
    """Both sides of one published resource."""

    service: KubeClient
    copied: CopiedKinds = no_kinds
    copies: Store = field(default_factory=lambda: Store(copy_keys))
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    uses: Uses = field(default_factory=Uses)
    opened: set[str] = field(default_factory=set)
    """Local namespaces in which the provider's grants were seen."""
    placed: dict[Identity, Manifest] = field(default_factory=dict)
    """Copies of the passes that run and made one: the watch may deliver it after the pass has ended."""

    def find(self, identity: Identity) -> tuple[Endpoint, Manifest] | None:
        """Return a published object and the endpoint that serves it."""
        for endpoint in self.endpoints.values():
            manifest = endpoint.primaries.get(identity)
            if manifest is not None:
                return endpoint, manifest
        return None

    def knows(self, cluster: str) -> bool:
        """Return whether a workspace has a binding or an object in sight."""
        return any(
            endpoint.bindings.indexed(cluster) or endpoint.primaries.indexed(cluster)
            for endpoint in self.endpoints.values()
        )

    def cluster_path(self, endpoint: Endpoint, cluster: str) -> str:
        """Return the path of a workspace, or nothing while it is not known."""
        found = endpoint.clusters.get(Identity(cluster, "", "cluster"))
        annotations = (found or {"metadata": {}})["metadata"].get("annotations") or {}
        return str(annotations.get(PATH_ANNOTATION, ""))

    def namespace_labels(self, endpoint: Endpoint, identity: Identity) -> dict[str, str] | None:
        """Return the labels of an object's namespace, or ``None`` while it is not known."""
        found = endpoint.namespaces.get(Identity(identity.cluster, "", identity.namespace))
        return None if found is None else dict(found["metadata"].get("labels") or {})
