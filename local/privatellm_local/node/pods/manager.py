"""All pods of the node: one worker each, fed by one watch.

A worker is found by the pod's UID, so a re-created pod of the same name is another pod. A worker that
fails (a fault of ours) takes nothing with it but its own processes; the next event starts a new one.
"""

import asyncio
import logging
from pathlib import Path

from privatellm.errors import PrivateLLMError
from privatellm.kube import Manifest
from privatellm.kube.kinds import POD
from privatellm_local.node import files
from privatellm_local.node.pods.worker import PodWorker, Tools
from privatellm_local.node.reflector import Selection, reflect

_log = logging.getLogger(__name__)


class PodManager:
    """Keeps a worker for every pod that is bound to the node."""

    def __init__(self, node_name: str, pods_dir: Path, tools: Tools) -> None:
        self._selection = Selection(POD, f"spec.nodeName={node_name}")
        self._pods_dir = pods_dir
        self._tools = tools
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Follow the pods until cancelled."""
        await reflect(self._tools.client, self._selection, self, self._tools.timings.retry)

    async def stop(self, grace_seconds: float) -> None:
        """End every container of the node within the grace period."""
        await asyncio.gather(*(worker.stop(grace_seconds) for worker in self._workers.values()))
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def find(self, namespace: str, name: str) -> PodWorker | None:
        """Return the newest pod of a name."""
        found = [
            worker
            for worker in self._workers.values()
            if (worker.pod.metadata.namespace, worker.pod.metadata.name) == (namespace, name)
        ]
        return found[-1] if found else None

    def replace(self, items: tuple[Manifest, ...]) -> None:
        """Take over the list of all pods; those that are missing in it are gone."""
        uids = {item["metadata"]["uid"] for item in items}
        for uid in self._workers.keys() - uids:
            self._workers[uid].forget()
        self._remove_orphans(uids)
        # Pods that have an address first, so that nobody else is given it.
        for item in sorted(items, key=lambda item: not item.get("status", {}).get("podIP")):
            self.changed(item)

    def changed(self, item: Manifest) -> None:
        """Hand a version of a pod to its worker."""
        uid = item["metadata"]["uid"]
        try:
            if uid in self._workers:
                self._workers[uid].update(item)
            else:
                self._accept(uid, item)
        except PrivateLLMError as error:
            _log.error("pod %s cannot be run: %s", item["metadata"]["name"], error)

    def deleted(self, item: Manifest) -> None:
        """Let a pod's worker end."""
        if worker := self._workers.get(item["metadata"]["uid"]):
            worker.forget()

    def _accept(self, uid: str, item: Manifest) -> None:
        worker = self._workers[uid] = PodWorker(item, self._tools)
        _log.info("pod %s accepted", worker.pod.label)
        task = self._tasks[uid] = asyncio.create_task(worker.run(), name=f"pod {worker.pod.label}")
        task.add_done_callback(lambda task: self._ended(uid, task))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        worker = self._workers.pop(uid)
        del self._tasks[uid]
        if not task.cancelled() and (failure := task.exception()):
            _log.error("pod %s: its worker failed", worker.pod.label, exc_info=failure)

    def _remove_orphans(self, uids: set[str]) -> None:
        """Remove what pods left that vanished while no agent ran."""
        if not self._pods_dir.is_dir():
            return
        for directory in self._pods_dir.iterdir():
            if directory.name not in uids and directory.name not in self._workers:
                files.remove(directory)
