"""Wait for an instance, telling what happens meanwhile and ending with the cause when it will not come.

The watch tells the conditions; how the download fares comes from the fetcher's log, beside it. A cause that
could heal is believed for a while and then ends the wait, because a person who sits at a terminal is better
served by one sentence now than by a time-out later. The platform goes on trying all the same.
"""

import asyncio
from contextlib import aclosing

from privatellm import labels
from privatellm.api.llm_instance import LLMInstance
from privatellm.errors import ForbiddenError, NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.kube.waiting import states, wait_for
from privatellm.names import label_value
from privatellm_cli import downloads
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.errors import OverdueError, UnreachedError
from privatellm_cli.verdict import OnTheWay, Reached, Stuck, Troubled, Verdict, judge
from privatellm_local.progress import Progress

PATIENCE_SECONDS = 20.0
"""How long a cause that could heal is believed to, be it a condition's or that of a fetcher's next try."""

READY_SECONDS = 600.0
"""How long a command waits unless told otherwise: a large model takes minutes to arrive and to load."""

GONE_SECONDS = 120.0
"""How long deletion may take; servers finish what they have begun."""


async def until_as_ordered(
    cluster: Cluster, name: Name, replicas: int, progress: Progress, timeout_seconds: float
) -> Manifest:
    """Return an instance once all servers answer, or, for an order of none, once none exists.

    Raises:
        UnreachedError: when it will not come about by itself, with the cause.
        OverdueError: when it did not come about in time.
    """
    wait = until_ready if replicas else until_stopped
    return await wait(cluster, name, progress, timeout_seconds)


async def until_ready(
    cluster: Cluster, name: Name, progress: Progress, timeout_seconds: float
) -> Manifest:
    """Return an instance once it is as it was asked for.

    Args:
        cluster: Where it is.
        name: The instance.
        progress: Told what happens.
        timeout_seconds: How long to wait at most.

    Raises:
        UnreachedError: when it will not come about by itself, with the cause.
        OverdueError: when it did not come about in time, with what it was waiting for.
    """
    progress.begin(name.text)
    wait = Wait(name, timeout_seconds, downloads.Narrator(progress))
    watching = asyncio.create_task(downloads.tell(cluster, name, wait))
    try:
        reached = await wait.follow(cluster)
    finally:
        watching.cancel()
        progress.close()
    return reached


async def until_stopped(
    cluster: Cluster, name: Name, progress: Progress, timeout_seconds: float
) -> Manifest:
    """Return an instance once it is stopped and none of its servers exists any more.

    The phase is about the order: servers that were told to end finish what they have begun first, and hold
    memory and a log until then. Who may not read pods has the phase's word for it.

    Raises:
        UnreachedError: when it will not come about by itself, with the cause.
        OverdueError: when it did not come about in time.
    """
    deadline = asyncio.get_running_loop().time() + timeout_seconds
    stopped = await until_ready(cluster, name, progress, timeout_seconds)
    progress.begin(name.text)
    progress.update("Its servers finish what they have begun.")
    try:
        async with asyncio.timeout_at(deadline):
            await _until_no_server(cluster, name)
    except ForbiddenError:
        return stopped
    except TimeoutError:
        raise OverdueError(
            f"LLMInstance {name.text} is stopped, but a server of it still exists after "
            f"{timeout_seconds:g} s: it finishes what it has begun. Wait longer with --timeout."
        ) from None
    finally:
        progress.close()
    return stopped


async def until_gone(cluster: Cluster, name: Name, uid: str, timeout_seconds: float) -> None:
    """Return once an instance does not exist any more.

    Raises:
        OverdueError: when it still exists.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            await _until_deleted(cluster, kinds.LLM_INSTANCE, name, uid)
    except TimeoutError:
        raise OverdueError(
            f"LLMInstance {name.text} still exists after {timeout_seconds:g} s: its servers finish what "
            "they have begun. It needs nothing from you unless the operator is down (`privatellm doctor`)."
        ) from None


async def _until_no_server(cluster: Cluster, name: Name) -> None:
    """Return once no pod of an instance exists whose containers run or could still run."""
    selector = f"{labels.LLM_INSTANCE}={label_value(name.name)}"
    while True:
        pods = (await cluster.client.list(kinds.POD, name.namespace, labels=selector)).items
        alive = next((pod for pod in pods if not _has_ended(pod)), None)
        if alive is None:
            return
        metadata = alive["metadata"]
        pod = Name(metadata["namespace"], metadata["name"])
        await _until_deleted(cluster, kinds.POD, pod, metadata["uid"])


def _has_ended(pod: Manifest) -> bool:
    """Say whether a pod is a mere record, such as that of an eviction, which nobody is deleting."""
    is_going = "deletionTimestamp" in pod["metadata"]
    return not is_going and pod.get("status", {}).get("phase") in ("Failed", "Succeeded")


async def _until_deleted(cluster: Cluster, kind: Kind, name: Name, uid: str) -> None:
    def gone(state: Manifest | None) -> bool:
        return state is None or state["metadata"]["uid"] != uid

    await wait_for(cluster.client, kind, name.name, name.namespace, gone)


class Wait:
    """One wait: a deadline, moved forward once something is stuck."""

    def __init__(self, name: Name, timeout_seconds: float, narrator: downloads.Narrator) -> None:
        self._name = name
        self._seconds = timeout_seconds
        self._narrator = narrator
        self._limit = asyncio.timeout(timeout_seconds)
        self._deadline = asyncio.get_running_loop().time() + timeout_seconds
        self._last: Verdict = OnTheWay("It has not been looked at yet.")
        self._stuck_since: float | None = None
        self._failing_since: float | None = None
        self._trouble = ""
        self._troubled_since: float | None = None

    async def follow(self, cluster: Cluster) -> Manifest:
        """Return the instance once it is as it was asked for.

        Raises:
            UnreachedError: when it will not come about by itself, with the cause.
            OverdueError: when it did not come about in time.
        """
        place = (self._name.name, self._name.namespace)
        try:
            async with (
                self._limit,
                aclosing(states(cluster.client, kinds.LLM_INSTANCE, *place)) as seen,
            ):
                async for state in seen:
                    if self._is_reached(state):
                        return state or {}
                    self._reschedule()
        except TimeoutError:
            raise self._end() from None
        raise AssertionError("states() never ends by itself")

    def hear(self, news: downloads.News | None) -> None:
        """Take note of how the download fares; failures are believed to heal until the next byte."""
        match news:
            case downloads.TryingAgain(cause):
                self._troubled_since = self._troubled_since or asyncio.get_running_loop().time()
                self._trouble = cause
                self._narrator.detail("trying again")
            case downloads.Coming(detail):
                self._trouble, self._troubled_since = "", None
                self._narrator.detail(detail)
            case None:
                self._trouble, self._troubled_since = "", None
        self._reschedule()

    def _is_reached(self, state: Manifest | None) -> bool:
        if state is None:
            raise NotFoundError(f"LLMInstance {self._name.text} was deleted meanwhile.")
        self._last = judge(LLMInstance.parse(state))
        if not isinstance(self._last, Troubled):
            self._failing_since = None
        match self._last:
            case Reached():
                return True
            case OnTheWay(message):
                self._narrator.say(message)
            case Troubled(message):
                self._failing_since = self._failing_since or asyncio.get_running_loop().time()
                self._narrator.say(message, is_stuck=True)
            case Stuck(message, final):
                if final:
                    raise self._end()
                # For good: a fetcher that fails, starts anew and fails again is no news.
                self._stuck_since = self._stuck_since or asyncio.get_running_loop().time()
                self._narrator.say(message, is_stuck=True)
        return False

    def _reschedule(self) -> None:
        """Give up earlier once something is stuck."""
        match self._last:
            case Stuck():
                since = self._stuck_since
            case Troubled():
                since = self._failing_since
            case _:
                since = self._troubled_since
        soonest = self._deadline if since is None else since + PATIENCE_SECONDS
        if not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(min(self._deadline, max(now, soonest)))

    def _end(self) -> UnreachedError | OverdueError:
        match self._last:
            case Stuck(message) | Troubled(message):
                return UnreachedError(f"LLMInstance {self._name.text} is not ready: {message}")
            case OnTheWay() if self._trouble:
                return UnreachedError(
                    f"LLMInstance {self._name.text} is not ready: the model's source fails. {self._trouble}"
                )
            case OnTheWay(message):
                return OverdueError(
                    f"LLMInstance {self._name.text} is not ready after {self._seconds:g} s: {message} "
                    f"Wait longer with --timeout, or look: `privatellm describe {self._name.text}`."
                )
            case Reached():
                raise AssertionError("what is reached does not end in an error")
