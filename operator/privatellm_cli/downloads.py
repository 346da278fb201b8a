"""How a download fares, read from the fetcher's log while somebody waits, or asks what is wrong.

A courtesy: conditions say that a model is being fetched, the log says how far it is, and what the fetcher
tries again because of. A fetcher forgives a source for minutes before it gives up and a condition has the
cause. Whoever may not read logs, and a log that cannot be read now, lose this and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Protocol

from privatellm import labels
from privatellm.errors import ForbiddenError, InvalidInputError, KubernetesError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest, kinds
from privatellm.names import label_value
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.output import size
from privatellm_local.progress import Progress

FETCHER = "fetch-model"
"""Name of the init container that brings the weights."""

PAUSE_SECONDS = 1.0
"""Between two looks for a fetcher that runs."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Bytes arrive; ``detail`` says how far it is."""

    detail: str


@dataclass(frozen=True, slots=True)
class TryingAgain:
    """The source failed in a way that may heal; ``cause`` is one sentence about it."""

    cause: str


News = Coming | TryingAgain


class Listener(Protocol):
    """Whoever wants to know how a download fares."""

    def hear(self, news: News | None) -> None:
        """Take note of the last line of a fetcher; ``None`` when no fetcher runs."""


class Narrator:
    """Joins what conditions and the log tell into one line of progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._message = self._detail = ""
        self._is_stuck = False

    def say(self, message: str, *, is_stuck: bool = False) -> None:
        """Tell what the conditions say; the detail of the sentence before is over.

        Args:
            message: The sentence.
            is_stuck: Whether it is about a failure; how far another try is would contradict it.
        """
        if is_stuck or message != self._message:
            self._detail = ""
        self._message, self._is_stuck = message, is_stuck
        self._tell()

    def detail(self, text: str) -> None:
        """Tell how far it is."""
        self._detail = "" if self._is_stuck else text
        self._tell()

    def _tell(self) -> None:
        # The operator may tell the percentage itself; the log is ahead of it and would repeat it.
        detail = "" if "%" in self._message else self._detail
        # The number first: a terminal cuts what is too long for it at the end.
        self._progress.update(" - ".join(filter(None, (detail, self._message))))


async def tell(cluster: Cluster, name: Name, listener: Listener) -> None:
    """Tell how the fetchers of an instance fare, until cancelled or not allowed to."""
    while True:
        try:
            async for news in _news(cluster, name):
                listener.hear(news)
        except ForbiddenError:
            return
        except KubernetesError:
            pass  # No container to read from yet, or not any more.
        await asyncio.sleep(PAUSE_SECONDS)


def news_of(line: bytes) -> News | None:
    """Return what a line of a fetcher's log says about the download, if it is about that."""
    try:
        entry = parse_json(line)
    except InvalidInputError:
        return None
    match entry:
        case {"event": "retry", "message": str(cause)}:
            return TryingAgain(cause)
        case {"event": "progress", "bytes": int(done), "total_bytes": int(total)} if total > 0:
            return Coming(f"{100 * done // total} % of {size(total)}")
        case {"event": "progress", "bytes": int(done)}:
            return Coming(size(done))
        case _:
            return None


async def trouble(cluster: Cluster, namespace: str, pods: Iterable[Manifest]) -> str:
    """Return in one sentence why a fetcher among these pods tries again; nothing where it is unknown."""
    pod = _fetching(pods)
    if pod is None:
        return ""
    query = {"container": FETCHER, "tailLines": "1"}
    try:
        async for line in cluster.client.lines(kinds.POD.path(namespace, pod, "log"), query=query):
            if isinstance(news := news_of(line), TryingAgain):
                return news.cause
    except KubernetesError:
        pass  # It may not be read, or there is nothing to read any more: the condition stands alone.
    return ""


async def _news(cluster: Cluster, name: Name) -> AsyncIterator[News | None]:
    pod = await _fetching_pod(cluster, name)
    if pod is None:
        yield None
        return
    path = kinds.POD.path(name.namespace, pod, "log")
    query = {"container": FETCHER, "follow": "true", "tailLines": "1"}
    async for line in cluster.client.lines(path, query=query):
        if news := news_of(line):
            yield news


async def _fetching_pod(cluster: Cluster, name: Name) -> str | None:
    selector = f"{labels.LLM_INSTANCE}={label_value(name.name)}"
    return _fetching((await cluster.client.list(kinds.POD, name.namespace, labels=selector)).items)


def _fetching(pods: Iterable[Manifest]) -> str | None:
    """Return the name of the first pod whose fetcher runs."""
    for pod in pods:
        for container in pod.get("status", {}).get("initContainerStatuses") or ():
            if container["name"] == FETCHER and "running" in (container.get("state") or {}):
                return str(pod["metadata"]["name"])
    return None
