"""Watches of our own: for the many events of what we write, and where rights differ by namespace.

kopf keeps a task and a memory for each object and looks for its handlers at each event. The events of
children are mostly echoes of our own writes, and handling them there took a fifth of the operator's
processor time for new instances. Here an event is one line read and one comparison.

kopf also watches a kind everywhere or in a fixed set of namespaces. Secrets are different: the right to
read them comes with the onboarding of a namespace and never covers the cluster. So each namespace in which
we have something to do gets a watch, which waits patiently while the right (or the kind) is missing and
asks for passes over everything there once it comes.

Each watch holds a connection, so they use a client of their own and cannot starve the writes.
"""

import asyncio
from collections.abc import Iterable

import structlog

from privatellm.errors import (
    ExpiredError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    UnauthorizedError,
)
from privatellm.kube import KubeClient
from privatellm.kube.kinds import Kind
from privatellm_operator.handlers.arrivals import Arrivals
from privatellm_operator.world.routing import dependants_in

log = structlog.get_logger(__name__)

FIRST_PAUSE_SECONDS = 1.0
"""Pause after a watch broke; it doubles with each further failure, because the API server may be gone."""

WATCH_SECONDS = 60
"""How long one watch lasts; one that is silent for little longer is broken and begins anew."""

LONGEST_PAUSE_SECONDS = 10.0
"""Longest pause; also the one after the API server said that we may not, or that there is no such kind."""


class NamespacedWatches:
    """The watches of one process, each for one kind in one namespace or, without one, in all of them."""

    def __init__(self, client: KubeClient, arrivals: Arrivals) -> None:
        self._client = client
        self._arrivals = arrivals
        self._watches: dict[tuple[Kind, str | None], _Watch] = {}

    def start(self, kind: Kind, namespace: str | None) -> None:
        """Watch a kind in a namespace (or in all) from now on, unless that happens already."""
        if (kind, namespace) not in self._watches:
            self._watches[kind, namespace] = _Watch(self._client, self._arrivals, kind, namespace)

    def keep(self, kind: Kind, namespaces: Iterable[str]) -> None:
        """End the watches of a kind in every namespace but these."""
        wanted = {(kind, namespace) for namespace in namespaces}
        for key in [k for k in self._watches if k[0] == kind and k not in wanted]:
            self._watches.pop(key).task.cancel()

    async def synced(self, timeout_seconds: float) -> None:
        """Wait until each watch has seen a first list or a refusal, but not for ever."""
        waits = [watch.synced.wait() for watch in self._watches.values()]
        if waits:
            tasks = [asyncio.ensure_future(wait) for wait in waits]
            _, pending = await asyncio.wait(tasks, timeout=timeout_seconds)
            for task in pending:
                task.cancel()

    async def close(self) -> None:
        """End every watch."""
        tasks = [watch.task for watch in self._watches.values()]
        self._watches.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Watch:
    """List, then watch, for ever."""

    def __init__(
        self, client: KubeClient, arrivals: Arrivals, kind: Kind, namespace: str | None
    ) -> None:
        self.synced = asyncio.Event()
        self._client = client
        self._arrivals = arrivals
        self._kind = kind
        self._namespace = namespace
        self._selector = arrivals.world[kind].watching.selector
        self._refused = False
        self._pause = FIRST_PAUSE_SECONDS
        self.task = asyncio.create_task(self._run(), name=f"watch {kind.plural} in {namespace}")

    async def _run(self) -> None:
        while True:
            try:
                version = await self._list()
                self._pause = FIRST_PAUSE_SECONDS
                await self._follow(version)
            except ExpiredError:
                continue
            except (ForbiddenError, NotFoundError, UnauthorizedError) as error:
                self._note_refusal(error)
                await asyncio.sleep(LONGEST_PAUSE_SECONDS)
            except KubernetesError as error:
                log.info("watch broke", kind=self._kind.name, error=str(error))
                await asyncio.sleep(self._pause)
                self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    async def _list(self) -> str:
        listing = await self._client.list(self._kind, self._namespace, labels=self._selector)
        self._arrivals.world.note_definition(self._kind, defined=True)
        for manifest in self._arrivals.world[self._kind].replace(listing, self._namespace):
            self._arrivals.enqueue(self._kind, manifest)
        if self._refused:
            self._refused = False
            self._enqueue_dependants()
        self.synced.set()
        return listing.resource_version

    def _enqueue_dependants(self) -> None:
        arrivals = self._arrivals
        for key in dependants_in(arrivals.world, self._namespace, arrivals.platform):
            arrivals.queue.add(key)

    async def _follow(self, version: str) -> None:
        while True:
            stream = self._client.watch(
                self._kind,
                self._namespace,
                resource_version=version,
                labels=self._selector,
                timeout_seconds=WATCH_SECONDS,
            )
            async for event in stream:
                version = event.object["metadata"]["resourceVersion"]
                if event.type != "BOOKMARK":
                    self._arrivals.note(self._kind, event.type, event.object)

    def _note_refusal(self, error: KubernetesError) -> None:
        if not self._refused:
            log.warning(
                "cannot watch",
                kind=self._kind.name,
                namespace=self._namespace,
                error=str(error),
                advice=_advice(error, self._namespace),
            )
            self._arrivals.world.note_definition(
                self._kind, defined=not isinstance(error, NotFoundError)
            )
            self._enqueue_dependants()
        self._refused = True
        self.synced.set()


def _advice(error: KubernetesError, namespace: str | None) -> str:
    """Return what somebody has to do before the watch can begin; it is tried again all the time."""
    match error:
        case NotFoundError():
            return "Install the definition of the kind; everything that needs it waits for that."
        case ForbiddenError() if namespace is not None:
            return (
                "Bind the operator's ClusterRole in the namespace, or take the namespace out of "
                "PRIVATE_LLM_NAMESPACES (values: watch.namespaces, onboardedNamespaces) when it is gone. "
                "Other namespaces are served meanwhile."
            )
        case _:
            return "Give the operator's service account the rights that its release brings."
