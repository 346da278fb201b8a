"""What every controller needs: the registry, a way to write, and a note that more is to be done soon."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privatellm.errors import AlreadyExistsError, NotFoundError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_local.kcp import labels
from privatellm_local.kcp.faults import Faults
from privatellm_local.kcp.registry import Registry
from privatellm_local.kcp.rewriting import Inward, outward
from privatellm_local.kcp.urls import Resource
from privatellm_local.kcp.views import Views


@dataclass(slots=True)
class Context:
    """Shared by all controllers.

    Attributes:
        client: For the API server behind the double.
        registry: kcp's own objects.
        faults: May delay what controllers do.
        url: The double's own base URL.
        pending: Whether a controller waits for something that no event will tell.
    """

    client: KubeClient
    registry: Registry
    faults: Faults
    url: str
    pending: bool = False
    applied_claims: dict[str, str] = field(default_factory=dict)

    @property
    def views(self) -> Views:
        """What is served where."""
        return Views(self.registry)

    async def create(self, kind: Kind, cluster: str, manifest: Manifest) -> None:
        """Create an object in a cluster; one that exists stays as it is."""
        metadata = manifest["metadata"]
        resource = _resource(kind, metadata.get("namespace", ""), metadata["name"])
        typed = {"apiVersion": kind.api_version, "kind": kind.name} | manifest
        try:
            await self.client.create(kind, Inward(cluster, resource).whole(typed))
        except AlreadyExistsError:
            return

    async def patch(
        self, kind: Kind, manifest: Manifest, body: Manifest, subresource: str = ""
    ) -> None:
        """Merge-patch an object that a workspace sees; one that is gone is left alone."""
        inward = _inward(kind, manifest)
        path = inward.path() + (f"/{subresource}" if subresource else "")
        try:
            await self.client.request(
                "PATCH", path, body=body, content="application/merge-patch+json"
            )
        except NotFoundError:
            return

    async def set_status(self, kind: Kind, manifest: Manifest, status: Manifest) -> None:
        """Write a status where it differs."""
        current = manifest.get("status") or {}
        changed = {key: value for key, value in status.items() if current.get(key) != value}
        removed = {key: None for key in status if status[key] is None and key in current}
        changed = {key: value for key, value in changed.items() if value is not None} | removed
        if changed:
            await self.patch(kind, manifest, {"status": changed}, "status")

    async def delete(self, kind: Kind, manifest: Manifest) -> None:
        """Delete an object that a workspace sees."""
        try:
            await self.client.request("DELETE", _inward(kind, manifest).path())
        except NotFoundError:
            return

    async def objects(self, kind: Kind, cluster: str) -> tuple[Manifest, ...]:
        """Return a cluster's objects of a kind as the cluster sees them; none when it is not served."""
        try:
            listing = await self.client.list(kind, labels=f"{labels.CLUSTER}={cluster}")
        except NotFoundError:
            return ()
        return tuple(outward(item) for item in listing.items)

    async def delete_all(self, kinds: Iterable[Kind], cluster: str, namespace: str = "") -> bool:
        """Delete a cluster's objects of some kinds and say whether none is left."""
        left = False
        for kind in kinds:
            for manifest in await self.objects(kind, cluster):
                if namespace and manifest["metadata"].get("namespace") != namespace:
                    continue
                left = True
                if "deletionTimestamp" not in manifest["metadata"]:
                    await self.delete(kind, manifest)
        self.pending = self.pending or left
        return not left

    async def release(self, kind: Kind, manifest: Manifest, finalizer: str) -> None:
        """Take a finalizer off an object."""
        found = manifest["metadata"].get("finalizers") or []
        if finalizer in found:
            kept = [one for one in found if one != finalizer]
            await self.patch(kind, manifest, {"metadata": {"finalizers": kept}})

    async def hold(self, kind: Kind, manifest: Manifest, finalizer: str) -> None:
        """Put a finalizer on an object that is not being deleted."""
        found = manifest["metadata"].get("finalizers") or []
        if finalizer not in found and "deletionTimestamp" not in manifest["metadata"]:
            await self.patch(kind, manifest, {"metadata": {"finalizers": [*found, finalizer]}})


def cluster_of(manifest: Manifest) -> str:
    """Return the cluster of an object that a workspace sees."""
    return str(manifest["metadata"]["annotations"][labels.KCP_CLUSTER])


def is_deleting(manifest: Manifest) -> bool:
    """Return whether somebody asked for the deletion of an object."""
    return "deletionTimestamp" in manifest["metadata"]


def _resource(kind: Kind, namespace: str, name: str) -> Resource:
    return Resource(kind.group, kind.version, kind.plural, namespace, name)


def _inward(kind: Kind, manifest: Manifest) -> Inward:
    metadata = manifest["metadata"]
    resource = _resource(kind, metadata.get("namespace", ""), metadata["name"])
    return Inward(cluster_of(manifest), resource)
