"""How much of a model is there, read from the fetcher's log while somebody waits.

A courtesy: conditions say that a model is being fetched, the log says how far it is. Whoever may not read
logs, and a log that cannot be read now, lose the percentage and nothing else.
"""

import asyncio
import json
from collections.abc import AsyncIterator

from privatellm import labels
from privatellm.errors import ForbiddenError, KubernetesError
from privatellm.kube import kinds
from privatellm.names import label_value
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.output import size
from privatellm_local.progress import Progress

FETCHER = "fetch-model"
"""Name of the init container that brings the weights."""

PAUSE_SECONDS = 1.0
"""Between two looks for a fetcher that runs."""


class Narrator:
    """Joins what conditions and the log tell into one line of progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._message = self._detail = ""

    def say(self, message: str) -> None:
        """Tell what the conditions say; the detail of the sentence before is over."""
        if message != self._message:
            self._message, self._detail = message, ""
        self._tell()

    def detail(self, text: str) -> None:
        """Tell how far it is."""
        self._detail = text
        self._tell()

    def _tell(self) -> None:
        # The operator may tell the percentage itself; the log is ahead of it and would repeat it.
        detail = "" if "%" in self._message else self._detail
        # The number first: a terminal cuts what is too long for it at the end.
        self._progress.update(" - ".join(filter(None, (detail, self._message))))


async def tell(cluster: Cluster, name: Name, narrator: Narrator) -> None:
    """Tell how far the fetchers of an instance are, until cancelled or not allowed to."""
    while True:
        try:
            async for detail in _details(cluster, name):
                narrator.detail(detail)
        except ForbiddenError:
            return
        except KubernetesError:
            pass  # No container to read from yet, or not any more.
        await asyncio.sleep(PAUSE_SECONDS)


def detail_of(line: bytes) -> str:
    """Return how far a fetcher is, by a line of its log; empty when it says nothing about that."""
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(entry, dict) or entry.get("event") != "progress":
        return ""
    done, total = entry.get("bytes"), entry.get("total_bytes")
    if not isinstance(done, int):
        return ""
    if not isinstance(total, int) or total <= 0:
        return size(done)
    return f"{100 * done // total} % of {size(total)}"


async def _details(cluster: Cluster, name: Name) -> AsyncIterator[str]:
    pod = await _fetching_pod(cluster, name)
    if pod is None:
        return
    path = kinds.POD.path(name.namespace, pod, "log")
    query = {"container": FETCHER, "follow": "true", "tailLines": "1"}
    async for line in cluster.client.lines(path, query=query):
        if detail := detail_of(line):
            yield detail


async def _fetching_pod(cluster: Cluster, name: Name) -> str | None:
    selector = f"{labels.LLM_INSTANCE}={label_value(name.name)}"
    listing = await cluster.client.list(kinds.POD, name.namespace, labels=selector)
    for pod in listing.items:
        for container in pod.get("status", {}).get("initContainerStatuses") or ():
            if container["name"] == FETCHER and "running" in (container.get("state") or {}):
                return str(pod["metadata"]["name"])
    return None
