"""Asking the authserver's pods, over real HTTP on loopback."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from typing_extensions import override

from foreign_answers import answering, in_pieces
from operator_objects import NOW, settings
from privatellm import labels
from privatellm.backend_keys import PlatformKey
from privatellm.kube import Listing, kinds
from privatellm_operator import last_use
from privatellm_operator.context import ProcessContext
from privatellm_operator.last_use import LastUsePoll
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.settings import LastUseSettings
from privatellm_operator.world.cache import World

KEY_ID = "abcdefghijkl"
REQUEST = Key(kinds.API_TOKEN_REQUEST, "acme", "key")
NAMESPACE = "private-llm-tokens"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class NoticingQueue(WorkQueue):
    """Remembers which keys were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Key] = []

    @override
    def add(self, key: Key) -> None:
        """Note the key and do nothing."""
        self.asked.append(key)


class Pods:
    """The part of the API server that a poll asks."""

    def __init__(self, *addresses: str, phase: str = "Running") -> None:
        self.asked: list[tuple[str | None, str]] = []
        self._phase = phase
        self.addresses = addresses

    async def list(self, _kind: Any, namespace: str | None = None, *, labels: str = "") -> Listing:
        """Return the pods."""
        self.asked.append((namespace, labels))
        statuses = ({"podIP": ip, "phase": self._phase} for ip in self.addresses)
        items = tuple({"status": status} for status in statuses)
        return Listing(items=items, resource_version="1")


class Edge:
    """An authserver's admin port whose answer tests choose."""

    def __init__(self) -> None:
        self.answer: Handler = self.says({})
        self.since: list[datetime] = []
        self.uses: list[str] = []
        self.port = 0

    def says(self, used: dict[str, datetime]) -> Handler:
        """Return a handler that reports these uses."""

        async def handler(_request: web.Request) -> web.StreamResponse:
            return web.json_response({"lastUsed": {k: t.isoformat() for k, t in used.items()}})

        return handler

    def counts(self, uses: dict[str, int]) -> Handler:
        """Return a handler that reports how often keys were used since the day began."""
        body = {"lastUsed": {}, "uses": uses, "countingSince": NOW.isoformat()}

        async def handler(request: web.Request) -> web.StreamResponse:
            return web.json_response(body | {"allUses": request.query["uses"] == "all"})

        return handler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Note the question and give the chosen answer."""
        self.since.append(datetime.fromisoformat(request.query["since"]))
        self.uses.append(request.query["uses"])
        return await self.answer(request)


@pytest.fixture
async def edge() -> AsyncIterator[Edge]:
    """A running admin port."""
    edge, app = Edge(), web.Application()
    app.router.add_get("/last-used", edge.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    edge.port = runner.addresses[0][1]
    yield edge
    await runner.cleanup()


def make(
    edge: Edge, pods: Pods, is_leading: Callable[[], bool] = lambda: True
) -> tuple[LastUsePoll, NoticingQueue]:
    """Return a poll of these pods by an operator that knows one request and its verifier."""
    chosen = settings(last_use=LastUseSettings(port=edge.port, seconds=300))
    world, queue = World(), NoticingQueue()
    world[kinds.API_TOKEN_REQUEST].put(
        {
            "metadata": {"name": "key", "namespace": "acme", "uid": "r1", "resourceVersion": "1"},
            "spec": {"instanceName": "chat"},
        }
    )
    metadata = {"name": f"v-{KEY_ID}", "namespace": NAMESPACE, "resourceVersion": "2"}
    marks = {labels.REQUEST_UID: "r1", labels.INSTANCE_UID: "i1"}
    verifier = {"metadata": metadata | {"labels": marks}}
    world[kinds.SECRET].put(verifier)
    key = PlatformKey.of("k" * 32)
    context = ProcessContext(pods, chosen, key, world, queue, clock=lambda: NOW)  # type: ignore[arg-type]
    return LastUsePoll(context, is_leading), queue


async def test_a_used_key_wakes_the_pass_of_its_request(edge: Edge) -> None:
    """Once, however often it is reported."""
    poll, queue = make(edge, Pods("127.0.0.1"))
    edge.answer = edge.says({KEY_ID: NOW - timedelta(seconds=5)})

    await poll.poll()
    await poll.poll()

    assert queue.asked == [REQUEST]
    assert edge.since[0] == NOW - timedelta(minutes=15)


async def test_every_pod_of_the_service_is_asked(edge: Edge) -> None:
    """Each knows only what it saw; pods are found by label in the operator's namespace."""
    pods = Pods("127.0.0.1", "127.0.0.2")
    poll, queue = make(edge, pods)
    edge.answer = edge.says({KEY_ID: NOW})

    await poll.poll()

    # Nothing listens at the second address, which keeps nobody from believing the first.
    assert queue.asked == [REQUEST]
    assert pods.asked == [("private-llm-system", "app.kubernetes.io/name=private-llm-authserver")]


async def test_without_use_nobody_is_woken(edge: Edge) -> None:
    """Nor by keys that no verifier belongs to."""
    poll, queue = make(edge, Pods("127.0.0.1"))
    await poll.poll()
    edge.answer = edge.says({"zzzzzzzzzzzz": NOW, "../../x": NOW})
    await poll.poll()

    assert queue.asked == []


async def test_uses_are_counted_for_the_request_of_their_key(edge: Edge) -> None:
    """As the pod's own count grows; one that counts backwards or beyond all bounds is left out."""
    poll, _queue = make(edge, Pods("127.0.0.1"))
    for count in (2, 5, -1, 2**60):
        edge.answer = edge.counts({KEY_ID: count})
        await poll.poll()

    assert poll.tally.uses("r1") == 5 - 2


async def test_a_pod_is_asked_for_all_its_counts_until_it_gave_them(edge: Edge) -> None:
    """What it had counted is a former leader's; what it counts from then on is ours."""
    poll, _queue = make(edge, Pods("127.0.0.1"))
    edge.answer = _failing
    await poll.poll()
    for count in (21, 27):
        edge.answer = edge.counts({KEY_ID: count})
        await poll.poll()

    assert edge.uses == ["all", "all", "recent"]
    assert poll.tally.uses("r1") == 6


async def test_a_pod_that_starts_later_is_counted_from_its_beginning(edge: Edge) -> None:
    """Nobody else can have counted it."""
    pods = Pods()
    poll, _queue = make(edge, pods)
    await poll.poll()

    pods.addresses = ("127.0.0.1",)
    edge.answer = edge.counts({KEY_ID: 4})
    await poll.poll()

    assert poll.tally.uses("r1") == 4


async def test_counts_that_arrive_when_another_may_lead_are_not_taken(edge: Edge) -> None:
    """A leader that was frozen wakes up in the middle of a poll; the other one counts already."""
    leading = [True]
    poll, _queue = make(edge, Pods("127.0.0.1"), lambda: leading[0])
    for count, leads in ((2, True), (5, True), (9, False)):
        leading[0] = leads
        edge.answer = edge.counts({KEY_ID: count})
        await poll.poll()

    assert poll.tally.uses("r1") == 3


async def test_a_pod_of_an_earlier_version_tells_no_uses(edge: Edge) -> None:
    """It is asked for last uses all the same."""
    poll, queue = make(edge, Pods("127.0.0.1"))
    edge.answer = edge.says({KEY_ID: NOW})

    await poll.poll()

    assert (poll.tally.uses("r1"), queue.asked) == (0, [REQUEST])


async def test_a_report_that_arrives_in_pieces_is_taken_as_a_whole(edge: Edge) -> None:
    """Those of a busy edge are megabytes."""
    report = json.dumps({"lastUsed": {KEY_ID: NOW.isoformat()}}).encode()

    async with answering(*in_pieces(report)) as raw:
        edge.port = raw.port
        poll, queue = make(edge, Pods("127.0.0.1"))
        await poll.poll()

    assert queue.asked == [REQUEST]


async def test_pods_that_do_not_run_are_not_asked(edge: Edge) -> None:
    """Their address may belong to somebody else by now."""
    poll, _queue = make(edge, Pods("127.0.0.1", phase="Succeeded"))

    await poll.poll()

    assert edge.since == []


async def _broken(_request: web.Request) -> web.StreamResponse:
    return web.Response(text='{"lastUsed": {"abcdefghijkl": "soon"}}')


async def _failing(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


async def _elsewhere(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "http://192.0.2.1/"})


async def _nested(_request: web.Request) -> web.StreamResponse:
    return web.Response(text='{"lastUsed": ' * 4000)


async def _endless(_request: web.Request) -> web.StreamResponse:
    used = json.dumps({"lastUsed": {KEY_ID: NOW.isoformat()}})
    return web.Response(text=used + " " * 2**17)


@pytest.mark.parametrize("answer", [_broken, _failing, _elsewhere, _nested, _endless])
async def test_an_answer_that_makes_no_sense_is_left_out(
    edge: Edge, answer: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part that strangers talk to must not be able to stop the operator."""
    monkeypatch.setattr(last_use, "LARGEST_ANSWER", 2**16)
    poll, queue = make(edge, Pods("127.0.0.1"))
    edge.answer = answer

    await poll.poll()

    assert queue.asked == []
