"""The pod as the API server has it, and the way to change what it says about the status."""

from datetime import datetime

from privatellm.kube import KubeClient, Manifest, PatchType
from privatellm.kube.kinds import POD
from privatellm_local.node.pod import Pod
from privatellm_local.node.pods import status
from privatellm_local.node.pods.status import Report


class Reporter:
    """Knows the newest version of one pod, and writes its status only when that says something else."""

    def __init__(self, client: KubeClient, manifest: Manifest) -> None:
        self._client = client
        self._manifest = manifest
        self.pod = Pod.parse(manifest)

    def accept(self, manifest: Manifest) -> None:
        """Take a version over unless it is older than the one we have.

        The answer to our own write is newer than the watch, which has yet to deliver it.

        Raises:
            InvalidObjectError: when the object is not a pod that the node can read.
        """
        if _version(manifest) > _version(self._manifest):
            self.pod = Pod.parse(manifest)
            self._manifest = manifest

    async def publish(self, report: Report, now: datetime) -> None:
        """Write the status unless the API server has it already.

        Raises:
            KubernetesError: when it cannot be written.
        """
        patch = status.patch(report, now)
        if status.settled(patch, self._manifest):
            return
        metadata = self.pod.metadata
        written = await self._client.patch(
            POD,
            metadata.name,
            metadata.namespace,
            patch,
            patch_type=PatchType.STRATEGIC,
            subresource="status",
        )
        self.accept(written)


def _version(manifest: Manifest) -> int:
    # Comparable since Kubernetes 1.35 (KEP-5504: resource versions are increasing decimal numbers).
    return int(manifest["metadata"]["resourceVersion"])
