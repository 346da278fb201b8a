import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise

import pytest
import structlog
from structlog.testing import capture_logs

from eventually import eventually
from privatellm.errors import (
    ConflictError,
    ForbiddenError,
    KubernetesError,
    ThrottledError,
    UnavailableError,
)
from privatellm.kube import kinds
from privatellm_operator.queue import Backoff, Key, WorkQueue

Pass = Callable[[Key], Awaitable[float | None]]


class Recorder:
    """A reconciler that remembers its passes and does in each what a test wants."""

    def __init__(self, work: Pass | None = None) -> None:
        self.seen: list[Key] = []
        self._work = work

    async def reconcile(self, key: Key) -> float | None:
        """Remember the key and do what the test wants."""
        self.seen.append(key)
        return await self._work(key) if self._work else None


def key(name: str, namespace: str = "acme") -> Key:
    return Key(kinds.LLM_INSTANCE, namespace, name)


@asynccontextmanager
async def working(queue: WorkQueue, reconciler: Recorder, workers: int = 1) -> AsyncIterator[None]:
    run = asyncio.create_task(queue.run({kinds.LLM_INSTANCE: reconciler}, workers=workers))
    try:
        yield
    finally:
        queue.stop()
        await run


async def settled(queue: WorkQueue) -> None:
    async def idle() -> bool:
        return queue.is_idle

    await eventually(idle, within=5, what="an idle queue")


async def test_a_waiting_key_is_in_the_queue_once() -> None:
    """A storm of events costs one pass."""
    queue, reconciler = WorkQueue(), Recorder()
    for _ in range(1000):
        queue.add(key("chat"))

    assert len(queue) == 1
    async with working(queue, reconciler):
        await settled(queue)
    assert reconciler.seen == [key("chat")]


async def test_passes_that_never_wait_leave_others_their_turns() -> None:
    """After a start thousands of settled objects get a pass; probes and the lease are served in between."""
    queue, reconciler = WorkQueue(), Recorder()
    for number in range(1000):
        queue.add(key(f"chat-{number}"))
    at_each_turn: list[int] = []

    async with working(queue, reconciler, workers=4):
        while not queue.is_idle:
            await asyncio.sleep(0)
            at_each_turn.append(len(reconciler.seen))

    assert max(after - before for before, after in pairwise(at_each_turn)) <= 4


async def test_a_change_during_a_pass_causes_one_more_pass_and_never_two_at_once() -> None:
    """Passes over one object do not overlap."""
    queue = WorkQueue()
    running, most = 0, 0

    async def work(seen: Key) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if len(reconciler.seen) == 1:
            queue.add(seen)
            queue.add(seen)
        await asyncio.sleep(0)
        running -= 1

    reconciler = Recorder(work)
    queue.add(key("chat"))
    async with working(queue, reconciler, workers=4):
        await settled(queue)

    assert len(reconciler.seen) == 2
    assert most == 1


async def test_a_noisy_tenant_delays_another_by_one_round_only() -> None:
    """Namespaces take turns, whatever came first."""
    queue, reconciler = WorkQueue(), Recorder()
    for number in range(1000):
        queue.add(key(f"i{number}", "noisy"))
    queue.add(key("first", "quiet"))

    async with working(queue, reconciler):
        await settled(queue)

    assert reconciler.seen.index(key("first", "quiet")) <= 1


async def test_a_failed_pass_comes_back_after_a_growing_delay() -> None:
    """Failures are retried until one pass succeeds."""
    queue = WorkQueue(backoff=Backoff(first=0.001))

    async def work(_key: Key) -> None:
        if len(reconciler.seen) < 3:
            raise UnavailableError("the API server is gone")
        done.set()

    reconciler, done = Recorder(work), asyncio.Event()
    queue.add(key("chat"))
    async with working(queue, reconciler), asyncio.timeout(5):
        await done.wait()

    assert len(reconciler.seen) == 3


async def test_a_broken_object_does_not_end_its_worker() -> None:
    """A bug in one pass is logged and retried; other objects get their passes."""
    results: list[tuple[str, str]] = []
    queue = WorkQueue(observer=lambda seen, result, _seconds: results.append((seen.name, result)))

    async def work(seen: Key) -> None:
        if seen.name == "broken":
            raise RuntimeError("a bug")

    queue.add(key("broken"))
    queue.add(key("fine"))
    async with working(queue, Recorder(work)):
        await settled(queue)

    assert results == [("broken", "error"), ("fine", "success")]


async def test_a_pass_plans_its_next_one_and_the_earliest_plan_counts() -> None:
    """Of several delays the shortest is kept, and a pass forgets what was planned before."""
    queue, reconciler = WorkQueue(), Recorder()
    queue.add_after(key("chat"), 3600)
    queue.add_after(key("chat"), 0.001)
    queue.add_after(key("chat"), 7200)

    async def seen() -> bool:
        return bool(reconciler.seen)

    async with working(queue, reconciler):
        await eventually(seen, within=5, what="the early pass")

    assert queue._turns._timers == {}


async def test_a_returned_delay_brings_the_key_back() -> None:
    """A number of seconds asks for another pass without any event."""
    queue = WorkQueue()

    async def work(_key: Key) -> float | None:
        if len(reconciler.seen) == 1:
            return 0.001
        again.set()
        return None

    reconciler, again = Recorder(work), asyncio.Event()
    queue.add(key("chat"))
    async with working(queue, reconciler), asyncio.timeout(5):
        await again.wait()


async def test_a_paused_queue_starts_no_pass() -> None:
    """Without the Lease nothing is written."""
    queue, reconciler = WorkQueue(), Recorder()
    queue.pause()
    queue.add(key("chat"))
    async with working(queue, reconciler):
        for _ in range(10):
            await asyncio.sleep(0)
        assert reconciler.seen == []

        queue.resume()
        await settled(queue)

    assert reconciler.seen == [key("chat")]


async def test_stopping_lets_a_running_pass_finish_and_starts_no_other() -> None:
    """A graceful stop leaves no half of a pass behind."""
    queue = WorkQueue()
    finished: list[str] = []

    async def work(seen: Key) -> None:
        queue.stop()
        await asyncio.sleep(0)
        finished.append(seen.name)

    queue.add(key("one"))
    queue.add(key("two"))
    async with asyncio.timeout(5):
        await queue.run({kinds.LLM_INSTANCE: Recorder(work)}, workers=3)

    assert finished == ["one"]


@pytest.mark.parametrize(
    ("failures", "error", "expected"),
    [
        (1, UnavailableError("gone"), 0.5),
        (3, ConflictError("changed"), 2.0),
        (99, UnavailableError("gone"), 30.0),
        (99, ForbiddenError("no"), 300.0),
        (1, ThrottledError("slow", retry_after=7), 7.0),
        (99, RuntimeError("a bug"), 30.0),
    ],
)
def test_the_delay_grows_to_a_ceiling_and_honours_the_server(
    failures: int, error: KubernetesError, expected: float
) -> None:
    """Refusals wait longest, because only a change of the world helps."""
    assert Backoff().delay(failures, error) == expected


async def test_what_is_logged_of_a_failure_is_inside_the_frame_of_its_pass() -> None:
    """So that the line carries what the frame put into the context, such as the id of a trace."""
    told: list[str] = []

    @contextmanager
    def frame(_key: Key) -> Iterator[Callable[[Exception], None]]:
        with structlog.contextvars.bound_contextvars(trace_id="abc"):
            yield lambda error: told.append(str(error))

    async def refused(_key: Key) -> None:
        raise ForbiddenError("no", status=403, reason="Forbidden")

    queue = WorkQueue(backoff=Backoff(first=60.0), frame=frame)
    queue.add(key("chat"))
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        async with working(queue, Recorder(refused)):
            await settled(queue)

    assert told == ["no"]
    assert [(line["event"], line["trace_id"]) for line in lines] == [("pass failed", "abc")]
