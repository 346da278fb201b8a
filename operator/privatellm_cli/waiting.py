"""Wait for an instance, telling what happens meanwhile and ending with the cause when it will not come.

The watch tells the conditions; how much of the model is there comes from the fetcher's log, beside it. A
cause that could heal is believed for a while and then ends the wait, because a person who sits at a
terminal is better served by one sentence now than by a time-out later.
"""

import asyncio
from contextlib import aclosing

from privatellm.api.llm_instance import LLMInstance
from privatellm.errors import NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm.kube.waiting import states, wait_for
from privatellm_cli import downloads
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.errors import OverdueError, UnreachedError
from privatellm_cli.verdict import OnTheWay, Reached, Stuck, Verdict, judge
from privatellm_local.progress import Progress

PATIENCE_SECONDS = 20.0
"""How long a cause that could heal is believed to; a fetcher has retried before it reports one."""

READY_SECONDS = 600.0
"""How long a command waits unless told otherwise: a large model takes minutes to arrive and to load."""

GONE_SECONDS = 120.0
"""How long deletion may take; servers finish what they have begun."""


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
    narrator = downloads.Narrator(progress)
    watching = asyncio.create_task(downloads.tell(cluster, name, narrator))
    try:
        reached = await _Wait(name, timeout_seconds).follow(cluster, narrator)
    finally:
        watching.cancel()
        progress.close()
    return reached


async def until_gone(cluster: Cluster, name: Name, uid: str, timeout_seconds: float) -> None:
    """Return once an instance does not exist any more.

    Raises:
        OverdueError: when it still exists.
    """

    def gone(state: Manifest | None) -> bool:
        return state is None or state["metadata"]["uid"] != uid

    try:
        async with asyncio.timeout(timeout_seconds):
            await wait_for(cluster.client, kinds.LLM_INSTANCE, name.name, name.namespace, gone)
    except TimeoutError:
        raise OverdueError(
            f"LLMInstance {name.text} still exists after {timeout_seconds:g} s: its servers finish what "
            "they have begun. It needs nothing from you unless the operator is down (`privatellm doctor`)."
        ) from None


class _Wait:
    """One wait: a deadline, moved forward once something is stuck."""

    def __init__(self, name: Name, timeout_seconds: float) -> None:
        self._name = name
        self._seconds = timeout_seconds
        self._stuck_since: float | None = None
        self._last: Verdict = OnTheWay("It has not been looked at yet.")

    async def follow(self, cluster: Cluster, narrator: downloads.Narrator) -> Manifest:
        place = (self._name.name, self._name.namespace)
        try:
            async with (
                asyncio.timeout(self._seconds) as limit,
                aclosing(states(cluster.client, kinds.LLM_INSTANCE, *place)) as seen,
            ):
                deadline = limit.when() or 0.0
                async for state in seen:
                    if self._is_reached(state, narrator):
                        return state or {}
                    limit.reschedule(self._until(deadline))
        except TimeoutError:
            raise self._end() from None
        raise AssertionError("states() never ends by itself")

    def _is_reached(self, state: Manifest | None, narrator: downloads.Narrator) -> bool:
        if state is None:
            raise NotFoundError(f"LLMInstance {self._name.text} was deleted meanwhile.")
        self._last = judge(LLMInstance.parse(state))
        match self._last:
            case Reached():
                return True
            case OnTheWay(message):
                narrator.say(message)
            case Stuck(message, final):
                if final:
                    raise self._end()
                narrator.say(message)
        return False

    def _until(self, deadline: float) -> float:
        """Return when to give up: earlier once something is stuck, for every later time it is again."""
        if not isinstance(self._last, Stuck):
            return deadline
        now = asyncio.get_running_loop().time()
        self._stuck_since = self._stuck_since or now
        return min(deadline, max(now, self._stuck_since + PATIENCE_SECONDS))

    def _end(self) -> UnreachedError | OverdueError:
        match self._last:
            case Stuck(message):
                return UnreachedError(f"LLMInstance {self._name.text} is not ready: {message}")
            case OnTheWay(message):
                return OverdueError(
                    f"LLMInstance {self._name.text} is not ready after {self._seconds:g} s: {message} "
                    f"Wait longer with --timeout, or look: `privatellm describe {self._name.text}`."
                )
            case Reached():
                raise AssertionError("what is reached does not end in an error")
