"""What is in a pod's volumes, and where they are.

Every volume of a pod is a directory of its own below the pod's directory, so two pods never meet,
except where they ask for it with a claim or a ``hostPath``. Planning is pure apart from resolving the
symbolic links of a ``hostPath`` and of a ``subPath``; :mod:`.files` writes. ``readOnly``, ``sizeLimit``,
``medium`` and file modes are not enforced: everything runs as one user, and files are 0600.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from privatellm_local.node.downward import PodFacts
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pod import (
    Container,
    DownwardSource,
    HostPathVolume,
    KeyedSource,
    KeyToPath,
    Projection,
    Volume,
    VolumeMount,
)
from privatellm_local.node.sources import Keyed, Sources

Files = Mapping[PurePosixPath, bytes]
"""Path below the volume to contents."""

SERVICE_ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where client libraries expect the token of a pod (an admission plugin mounts it there)."""


@dataclass(frozen=True, slots=True)
class PlannedVolume:
    """A directory, and the files that the node keeps in it."""

    path: Path
    files: Files | None = None
    """``None`` when the contents belong to the pod or to somebody else."""

    create: bool = True


@dataclass(frozen=True, slots=True)
class VolumePlanner:
    """Turns the volumes of one pod into directories and files."""

    directory: Path
    facts: PodFacts
    sources: Sources
    host_path_roots: Sequence[Path] = field(default=())

    def plan(self) -> Mapping[str, PlannedVolume]:
        """Return every volume of the pod by name.

        Raises:
            ContainerRefusedError: when one cannot be provided.
        """
        return {volume.name: self._volume(volume) for volume in self.facts.pod.spec.volumes}

    def _volume(self, volume: Volume) -> PlannedVolume:
        own = self.directory / volume.name
        if volume.empty_dir is not None:
            return PlannedVolume(own)
        if volume.host_path:
            return _host_path(volume.host_path, self.host_path_roots)
        if volume.persistent_volume_claim:
            return self._claim(volume.persistent_volume_claim.claim_name)
        return PlannedVolume(own, self._files(volume))

    def _claim(self, name: str) -> PlannedVolume:
        path = self.sources.claims.get(name)
        if path is None:
            raise ContainerRefusedError(
                f"PersistentVolumeClaim {name} is not bound to a volume of this node yet."
            )
        return PlannedVolume(path)

    def _files(self, volume: Volume) -> Files:
        if volume.secret:
            return _keyed(volume.secret, self.sources.secrets, "Secret")
        if volume.config_map:
            return _keyed(volume.config_map, self.sources.config_maps, "ConfigMap")
        if volume.downward_api:
            return self._downward(volume.downward_api)
        if volume.projected:
            files: dict[PurePosixPath, bytes] = {}
            for source in volume.projected.sources:
                files |= self._projection(source)
            return files
        raise ContainerRefusedError(
            f"The host node provides emptyDir, secret, configMap, downwardAPI, projected, "
            f"persistentVolumeClaim and hostPath volumes; volume {volume.name} is of another type."
        )

    def _projection(self, source: Projection) -> Files:
        if source.secret:
            return _keyed(source.secret, self.sources.secrets, "Secret")
        if source.config_map:
            return _keyed(source.config_map, self.sources.config_maps, "ConfigMap")
        if source.downward_api:
            return self._downward(source.downward_api)
        if source.service_account_token:
            token = self.sources.tokens[source.service_account_token]
            return {_inside(source.service_account_token.path): token.encode()}
        raise ContainerRefusedError(
            "The host node projects secret, configMap, downwardAPI and serviceAccountToken; "
            "a projected volume has another source."
        )

    def _downward(self, source: DownwardSource) -> Files:
        files: dict[PurePosixPath, bytes] = {}
        for item in source.items:
            text = self.facts.field(item.field_ref) if item.field_ref else ""
            if item.resource_field_ref:
                reader = self.facts.pod.spec.containers[0]
                text = self.facts.resource(item.resource_field_ref, reader)
            files[_inside(item.path)] = text.encode()
        return files


def mounts(container: Container, volumes: Mapping[str, PlannedVolume]) -> dict[str, Path]:
    """Return where each mount path of a container really is.

    Raises:
        ContainerRefusedError: when a mount cannot be provided.
    """
    return {mount.mount_path: _mounted(mount, volumes) for mount in container.volume_mounts}


def _mounted(mount: VolumeMount, volumes: Mapping[str, PlannedVolume]) -> Path:
    if mount.sub_path_expr:
        raise ContainerRefusedError(
            f"The host node does not expand subPathExpr (mount {mount.mount_path}). Use subPath."
        )
    if mount.name not in volumes:
        raise ContainerRefusedError(f"The pod has no volume {mount.name}.")
    root = volumes[mount.name].path
    if not mount.sub_path:
        return root
    place = root / _inside(mount.sub_path)
    if not place.resolve().is_relative_to(root.resolve()):
        raise ContainerRefusedError(
            f"A subPath stays inside its volume; {mount.sub_path!r} of volume {mount.name} leads "
            "outside by a symbolic link."
        )
    return place


def _host_path(volume: HostPathVolume, roots: Sequence[Path]) -> PlannedVolume:
    # Resolved, or a symbolic link below a root would lead anywhere.
    path = Path(volume.path).resolve()
    if not any(path.is_relative_to(root.resolve()) for root in roots):
        allowed = ", ".join(str(root) for root in roots) or "none"
        raise ContainerRefusedError(
            f"A hostPath must lie below one of the node's roots ({allowed}); got {volume.path}."
        )
    create = volume.type == "DirectoryOrCreate"
    if not create and volume.type and not path.exists():
        raise ContainerRefusedError(f"The hostPath {volume.path} ({volume.type}) does not exist.")
    return PlannedVolume(path, create=create)


def _keyed(source: KeyedSource, objects: Keyed, kind: str) -> Files:
    name = source.object_name
    if name not in objects and not source.optional:
        raise ContainerRefusedError(
            f"{kind} {name} does not exist in the pod's namespace. Create it."
        )
    data = objects.get(name, {})
    items = source.items or tuple(KeyToPath(key=key, path=key) for key in data)
    absent = sorted(item.key for item in items if item.key not in data)
    if absent and not source.optional:
        raise ContainerRefusedError(f"{kind} {name} has no key {', '.join(absent)}. Add it.")
    return {_inside(item.path): data[item.key] for item in items if item.key in data}


def _inside(path: str) -> PurePosixPath:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise ContainerRefusedError(
            f"A path below a volume is relative and without '..'; got {path!r}."
        )
    return relative
