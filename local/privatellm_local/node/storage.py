"""PersistentVolumes for claims: a directory below the node's root for each.

A StorageClass that names the node's provisioner is part of the environment, not made here. A volume is
bound to its claim by UID, so a re-created claim gets an empty one. When a claim is gone, a volume with
reclaim policy ``Delete`` goes with its directory; the controller manager cannot do that and leaves volumes
with our annotation to us. Capacity is recorded and not enforced.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from privatellm.errors import AlreadyExistsError, KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS
from privatellm_local.node import files
from privatellm_local.node.reflector import Selection, reflect

_log = logging.getLogger(__name__)

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True, slots=True)
class ClassPolicy:
    """What a StorageClass of ours says about its volumes."""

    provisioner: str
    reclaim: str
    waits_for_consumer: bool


def policies(classes: tuple[Manifest, ...], provisioner: str) -> dict[str, ClassPolicy]:
    """Return the classes that name a provisioner, by name."""
    return {
        item["metadata"]["name"]: ClassPolicy(
            provisioner,
            item.get("reclaimPolicy", "Delete"),
            item.get("volumeBindingMode") == "WaitForFirstConsumer",
        )
        for item in classes
        if item.get("provisioner") == provisioner
    }


def wants_volume(claim: Manifest, classes: Mapping[str, ClassPolicy]) -> bool:
    """Say whether a claim waits for a volume of ours."""
    spec, metadata = claim["spec"], claim["metadata"]
    policy = classes.get(spec.get("storageClassName", ""))
    if policy is None or spec.get("volumeName") or metadata.get("deletionTimestamp"):
        return False
    return not policy.waits_for_consumer or _SELECTED_NODE in metadata.get("annotations", {})


def volume_for(claim: Manifest, policy: ClassPolicy, directory: Path) -> Manifest:
    """Return the volume for a claim; its name follows from the claim's UID, so it is made once."""
    metadata, spec = claim["metadata"], claim["spec"]
    name = volume_name(claim)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: policy.provisioner}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": policy.reclaim,
            "hostPath": {"path": str(directory / name), "type": ""},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }


def volume_name(claim: Manifest) -> str:
    """Return the name of a claim's volume."""
    return f"pvc-{claim['metadata']['uid']}"


def reclaimable(volume: Manifest, provisioner: str) -> bool:
    """Say whether a volume is a provisioner's to delete now."""
    annotations = volume["metadata"].get("annotations", {})
    released = volume.get("status", {}).get("phase") in {"Released", "Failed"}
    deletes = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    return annotations.get(PROVISIONED_BY) == provisioner and released and deletes


class _Wake:
    """Turns every event of a watch into one wish to look at everything again."""

    def __init__(self, due: asyncio.Event) -> None:
        self._due = due

    def replace(self, items: tuple[Manifest, ...]) -> None:
        """Something may have changed."""
        del items
        self._due.set()

    def changed(self, item: Manifest) -> None:
        """Something changed."""
        del item
        self._due.set()

    deleted = changed


class Provisioner:
    """Makes and removes volumes; each pass looks at the whole world, so no event can be missed."""

    def __init__(
        self, client: KubeClient, name: str, directory: Path, retry_seconds: float
    ) -> None:
        self._client = client
        self._name = name
        self._directory = directory
        self._retry_seconds = retry_seconds
        self._due = asyncio.Event()

    async def run(self) -> None:
        """Provide volumes until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_provisioning())
            for kind in (PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME, STORAGE_CLASS):
                sink = _Wake(self._due)
                group.create_task(reflect(self._client, Selection(kind), sink, self._retry_seconds))

    async def _keep_provisioning(self) -> None:
        while True:
            try:
                await self._due.wait()
                self._due.clear()
                await self._pass()
            except (KubernetesError, OSError) as error:
                _log.warning("volumes cannot be provided: %s", error)
                await asyncio.sleep(self._retry_seconds)
                self._due.set()

    async def _pass(self) -> None:
        classes = policies((await self._client.list(STORAGE_CLASS)).items, self._name)
        for claim in (await self._client.list(PERSISTENT_VOLUME_CLAIM)).items:
            if wants_volume(claim, classes):
                await self._provide(claim, classes[claim["spec"]["storageClassName"]])
        for volume in (await self._client.list(PERSISTENT_VOLUME)).items:
            if reclaimable(volume, self._name):
                await self._reclaim(volume["metadata"]["name"])

    async def _provide(self, claim: Manifest, policy: ClassPolicy) -> None:
        volume = volume_for(claim, policy, self._directory)
        files.make_directory(self._directory / volume["metadata"]["name"])
        try:
            await self._client.create(PERSISTENT_VOLUME, volume)
        except AlreadyExistsError:
            return  # The controller manager has not bound it yet.
        _log.info("volume %s provided", volume["metadata"]["name"])

    async def _reclaim(self, name: str) -> None:
        # The name is ours, so the path below is; the object's own path is not trusted.
        await asyncio.to_thread(files.remove, self._directory / name)
        await self._client.delete(PERSISTENT_VOLUME, name)
        _log.info("volume %s removed", name)
