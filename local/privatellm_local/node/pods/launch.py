"""From a container's spec to a running process: read, plan, write, start.

Everything that a pod gets lies below its own directory::

    pods/<uid>/volumes/<volume>/         emptyDir, Secrets, ConfigMaps, tokens
    pods/<uid>/containers/<name>/cwd/    working directory, emptied before each run
    pods/<uid>/containers/<name>/N.log   output of run N
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from privatellm.kube import KubeClient
from privatellm_local.node import environment, files, images, logs, probes, sources, volumes
from privatellm_local.node.config import NodeConfig
from privatellm_local.node.confinement import Confinement
from privatellm_local.node.downward import PodFacts
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.leftovers import MARKER
from privatellm_local.node.paths import PathMap
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.process import Command, ContainerProcess, ExitStatus
from privatellm_local.node.sources import Sources
from privatellm_local.node.tokens import TokenStore, kubeconfig
from privatellm_local.node.volumes import PlannedVolume, VolumePlanner

MOUNTS_VARIABLE = "PRIVATE_LLM_VOLUME_MOUNTS"
"""JSON of mount path to directory, for programs that read paths from elsewhere than args."""

TEMPORARY = "/tmp"  # noqa: S108 - a path in a container
"""Every container has such a directory, mounted or not, and never shares the machine's."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pod whose volumes are in place."""

    facts: PodFacts
    sources: Sources
    volumes: Mapping[str, PlannedVolume]


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts containers of any pod of this node."""

    config: NodeConfig
    client: KubeClient
    tokens: TokenStore

    def pod_dir(self, pod: Pod) -> Path:
        """Return the directory of everything that a pod has on this machine."""
        return self.config.root_dir / "pods" / pod.metadata.uid

    def container_dir(self, pod: Pod, container: str) -> Path:
        """Return the directory of one container."""
        return self.pod_dir(pod) / "containers" / container

    async def prepare(self, pod: Pod, pod_ip: str) -> Prepared:
        """Bring the pod's volumes up to date; repeated, it follows changed Secrets and old tokens.

        Raises:
            ContainerRefusedError: when a volume cannot be provided.
            KubernetesError: when the API server cannot be asked.
        """
        host_ip = str(self.config.kubelet_address)
        facts = PodFacts(pod, pod_ip, host_ip, self.config.capacity)
        found = await sources.gather(self.client, self.tokens, pod)
        planner = VolumePlanner(
            self.pod_dir(pod) / "volumes", facts, found, self.config.host_path_roots
        )
        planned = planner.plan()
        for volume in planned.values():
            _write(volume)
        return Prepared(facts, found, planned)

    async def start(self, container: Container, prepared: Prepared, run: int) -> ContainerProcess:
        """Start one run of a container.

        Raises:
            ContainerRefusedError: when the container asks for what the node does not do.
            ProcessStartError: when the operating system cannot start the program.
        """
        program = images.resolve(container, self.config.images)
        _refuse_unsupported(container)
        own = files.make_directory(self.container_dir(prepared.facts.pod, container.name))
        work = files.make_empty_directory(own / "cwd")
        files.make_directory(work / "tmp")
        termination_log(own).unlink(missing_ok=True)
        logs.discard_old(own, run)
        paths = _paths(container, prepared, own)
        given = self._given(prepared.facts.pod, paths, own)
        variables = environment.build(container, prepared.facts, prepared.sources, paths, given)
        arguments = environment.arguments(container, variables, paths)
        confinement = self._confinement(paths, work)
        confinement.check_arguments(arguments)
        confinement.check_variables(dict(variables.values.items() - given.items()))
        marked = {**variables.values, MARKER: str(self.config.root_dir)}
        log = logs.log_file(own, run)
        return await ContainerProcess.start(Command((*program, *arguments), marked, work, log))

    def _confinement(self, paths: PathMap, work: Path) -> Confinement:
        # What is shared by hostPath may be named without a mount too: every pod could mount it.
        places = (*paths.places.values(), work, *self.config.host_path_roots)
        return Confinement.of(places, paths.places)

    def _given(self, pod: Pod, paths: PathMap, own: Path) -> dict[str, str]:
        server = urlsplit(self.config.api_server)
        inherited = {name: os.environ[name] for name in environment.INHERITED if name in os.environ}
        return {
            **inherited,
            "HOME": str(own / "cwd"),
            "HOSTNAME": pod.metadata.name,
            "TMPDIR": str(paths.get(TEMPORARY)),
            # Output goes to a file, where Python would hold lines back; and a pod's working
            # directory and home must not be places that code is imported from.
            "PYTHONUNBUFFERED": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONNOUSERSITE": "1",
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(server.port or 443),
            MOUNTS_VARIABLE: json.dumps(paths.as_text()),
            **self._credentials(pod, paths, own),
        }

    def _credentials(self, pod: Pod, paths: PathMap, own: Path) -> dict[str, str]:
        """Write a kubeconfig when the pod has a service-account token, and return the variable."""
        mounted = paths.get(volumes.SERVICE_ACCOUNT_PATH)
        if mounted is None:
            return {}
        path = own / "kubeconfig"
        files.write(
            path,
            kubeconfig(
                self.config.api_server,
                mounted / "ca.crt",
                mounted / "token",
                pod.metadata.namespace,
            ),
        )
        return {"KUBECONFIG": str(path)}


def termination_log(container_dir: Path) -> Path:
    """Return the file that stands for a container's ``terminationMessagePath``."""
    return container_dir / "termination-log"


def termination_message(
    container: Container, container_dir: Path, run: int, exit_status: ExitStatus
) -> str:
    """Return what a container said at its end: its own message, or the end of its log if it asks so."""
    own = logs.last_words(termination_log(container_dir))
    fallback = container.termination_message_policy == "FallbackToLogsOnError"
    if own or not fallback or exit_status.code == 0:
        return own
    return logs.last_words(logs.log_file(container_dir, run))


def _write(volume: PlannedVolume) -> None:
    if volume.files is not None:
        files.synchronise(volume.path, volume.files)
    elif volume.create:
        files.make_directory(volume.path)


def _refuse_unsupported(container: Container) -> None:
    probes.refuse_unsupported(container)
    if container.restart_policy is not None:
        raise ContainerRefusedError(
            f"The host node does not run sidecars; init container {container.name} has "
            f"restartPolicy {container.restart_policy}. Make it an ordinary container."
        )


def _paths(container: Container, prepared: Prepared, own: Path) -> PathMap:
    mounted = volumes.mounts(container, prepared.volumes)
    for mount in container.volume_mounts:
        if mount.sub_path and not mounted[mount.mount_path].exists():
            files.make_directory(mounted[mount.mount_path])
    its_own = {TEMPORARY: own / "cwd" / "tmp"}
    return PathMap({**its_own, **mounted, container.termination_message_path: termination_log(own)})
