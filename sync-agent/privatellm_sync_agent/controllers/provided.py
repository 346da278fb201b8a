"""Keep the PublishedResources of a directory in the service cluster.

A chart cannot install a definition and an object of it in one release, so the objects travel as files of a
ConfigMap and the agent applies them. What a file says is kept so. Nothing is deleted: an object whose file
went away goes on to serve the customers who use it, and somebody deletes it when that is meant.
"""

import asyncio
from pathlib import Path

import structlog

from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm_sync_agent.published.files import read_directory
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE

log = structlog.get_logger(__name__)

FIELD_MANAGER = "private-llm-sync-agent"
LOOK_SECONDS = 60.0
RETRY_SECONDS = 5.0


class ProvidedResources:
    """Looks at the files and at the cluster now and then."""

    def __init__(self, service: KubeClient, directory: Path) -> None:
        self._service = service
        self._directory = directory
        self._told: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Apply for ever."""
        while True:
            done = await self.apply()
            await asyncio.sleep(LOOK_SECONDS if done else RETRY_SECONDS)

    async def apply(self) -> bool:
        """Apply what differs, and return whether everything that can be applied is in the cluster."""
        # A ConfigMap's files live on the node's disk: reading them must not stop the loop.
        found = await asyncio.to_thread(read_directory, self._directory)
        self._tell(found.faults)
        outcomes = [await self._keep(manifest) for manifest in found.manifests.values()]
        return all(outcomes)

    def _tell(self, faults: frozenset[str]) -> None:
        for fault in sorted(faults - self._told):
            log.error("file skipped", error=fault)
        self._told = faults

    async def _keep(self, manifest: Manifest) -> bool:
        name = manifest["metadata"]["name"]
        try:
            live = await self._service.get(PUBLISHED_RESOURCE, name)
            if live is None or not says(live, manifest):
                await self._service.apply(PUBLISHED_RESOURCE, manifest, field_manager=FIELD_MANAGER)
                log.info("applied", resource=name)
        except KubernetesError as error:
            log.warning("not applied, tried again", resource=name, error=str(error))
            return False
        return True


def says(live: Manifest, wanted: Manifest) -> bool:
    """Return whether an object says everything that a file says; others may add labels and annotations."""
    return bool(live.get("spec") == wanted.get("spec")) and all(
        (wanted["metadata"].get(part) or {}).items() <= (live["metadata"].get(part) or {}).items()
        for part in ("labels", "annotations")
    )
