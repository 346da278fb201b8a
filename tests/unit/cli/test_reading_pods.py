import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.client import Configuration

from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm_cli import description, downloads, pod_logs
from privatellm_cli.cluster import Cluster
from privatellm_cli.downloads import Coming, News, TryingAgain
from privatellm_cli.pod_logs import LogQuery
from privatellm_local.progress import SilentProgress
from privatellm_operator.fetcher.progress import json_lines


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"event": "progress", "bytes": 63_000_000, "total_bytes": 253_000_000},
            Coming("24 % of 253 MB"),
        ),
        ({"event": "progress", "bytes": 63_000_000}, Coming("63 MB")),
        ({"event": "progress", "bytes": 63_000_000, "total_bytes": None}, Coming("63 MB")),
        ({"event": "retry", "message": "hub is silent."}, TryingAgain("hub is silent.")),
        ({"event": "retry"}, None),
        ({"event": "verified", "bytes": 63_000_000}, None),
        ({"event": "progress", "bytes": "many"}, None),
        ("a string", None),
    ],
)
def test_how_a_download_fares_is_read_off_the_fetchers_log(
    entry: Any, expected: News | None
) -> None:
    """Other lines say nothing about it."""
    assert downloads.news_of(json.dumps(entry).encode()) == expected
    assert downloads.news_of(b"not json") is None
    assert downloads.news_of(b"[" * 4000) is None


@pytest.mark.parametrize("name", ["progress", "retry"])
def test_the_fetcher_writes_the_lines_that_are_read(name: str) -> None:
    """By its own writer, and not only in this test's words."""
    written = io.StringIO()
    fields = {"bytes": 1, "total_bytes": 2, "message": "hub is silent.", "seconds": 1.0}
    json_lines(written, lambda: datetime(2026, 1, 1, tzinfo=UTC))(name, **fields)

    assert downloads.news_of(written.getvalue().encode()) is not None


class Screen(SilentProgress):
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, detail: str) -> None:
        """Take note."""
        self.shown.append(detail)


def test_how_far_it_is_belongs_to_what_is_going_on() -> None:
    """The percentage of a download is not shown beside the next sentence."""
    screen = Screen()
    narrator = downloads.Narrator(screen)

    narrator.say("The model is being fetched.")
    narrator.detail("24 % of 253 MB")
    narrator.say("The model is being loaded.")

    assert screen.shown == [
        "The model is being fetched.",
        "24 % of 253 MB - The model is being fetched.",
        "The model is being loaded.",
    ]


def test_how_far_another_try_is_is_not_told_beside_the_failure() -> None:
    """A fetcher that starts anew has a percentage, and the condition still speaks of the last one."""
    screen = Screen()
    narrator = downloads.Narrator(screen)

    narrator.say("The model is being fetched.")
    narrator.detail("99 % of 253 MB")
    narrator.say("Its checksum is wrong.", is_stuck=True)
    narrator.detail("1 % of 253 MB")
    narrator.say("The model is being fetched.")
    narrator.detail("2 % of 253 MB")

    assert screen.shown[2:] == [
        "Its checksum is wrong.",
        "Its checksum is wrong.",
        "The model is being fetched.",
        "2 % of 253 MB - The model is being fetched.",
    ]


def _pod(**server: Any) -> dict[str, Any]:
    statuses = [{"name": "llama-server", **server}] if server else []
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": statuses}}


@pytest.mark.parametrize(
    ("pod", "container"),
    [
        (_pod(), "fetch-model"),
        (_pod(state={"waiting": {"reason": "PodInitializing"}}), "fetch-model"),
        (_pod(state={"running": {}}), "llama-server"),
        (
            _pod(
                state={"waiting": {"reason": "CrashLoopBackOff"}},
                lastState={"terminated": {"x": 1}},
            ),
            "llama-server",
        ),
    ],
)
def test_the_log_of_what_is_at_work_is_shown(pod: dict[str, Any], container: str) -> None:
    """The fetcher before the server has begun, the server afterwards and in a crash loop."""
    assert pod_logs.container_at_work(pod) == container


def test_a_log_query_asks_for_nothing_that_was_not_wanted() -> None:
    """The API server refuses empty parameters."""
    assert LogQuery(lines=5).parameters(_pod(state={"running": {}})) == {
        "container": "llama-server",
        "tailLines": "5",
    }
    assert LogQuery("fetch-model", previous=True, follow=True).parameters(_pod()) == {
        "container": "fetch-model",
        "previous": "true",
        "follow": "true",
    }


@asynccontextmanager
async def _cluster(
    answer: Callable[[web.Request], Awaitable[web.Response]],
) -> AsyncIterator[Cluster]:
    """A cluster whose API server answers so."""
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        configuration = Configuration()
        configuration.host = str(server.make_url("/"))
        async with KubeClient(Credentials(None, configuration)) as client:
            yield Cluster(client, "acme")


@pytest.fixture
async def place() -> AsyncIterator[Cluster]:
    """A cluster with an instance whose fetcher has written what the query for its lines says."""
    waiting = {"name": "w", "namespace": "acme"}

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/log"):
            return web.Response(text="a line\n" * int(request.query.get("tailLines", 0)))
        if request.path.endswith("/pods"):
            pod = {"metadata": waiting | {"name": "w-0"}}
            return web.json_response({"items": [pod], "metadata": {"resourceVersion": "1"}})
        return web.json_response({"metadata": waiting})

    async with _cluster(answer) as cluster:
        yield cluster


async def test_a_log_without_lines_is_told_and_leaves_the_output_empty(
    place: Cluster, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Silence would look like a command that did nothing."""
    await pod_logs.copy(place, place.name("w"), LogQuery())

    written = capfdbinary.readouterr()
    assert written.out == b""
    assert b"Container fetch-model of pod w-0 has written no lines yet" in written.err
    assert b"`privatellm describe acme/w`" in written.err


async def test_a_log_with_lines_is_copied_and_nothing_else_is_said(
    place: Cluster, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What is piped is the log."""
    await pod_logs.copy(place, place.name("w"), LogQuery(lines=2))

    assert capfdbinary.readouterr() == (b"a line\na line\n", b"")


FETCHES = {"name": "fetch-model", "state": {"running": {}}}
FETCHING_POD = {
    "metadata": {"name": "p", "uid": "2", "namespace": "acme"},
    "status": {"initContainerStatuses": [FETCHES]},
}
TRIES_AGAIN = json.dumps({"event": "retry", "message": "The hub is silent."})


def _condition(reason: str) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": "False",
        "reason": reason,
        "message": f"{reason} it is.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def _described(reason: str, log: str | None) -> dict[str, str]:
    """Describe an instance with a condition, whose fetcher runs and wrote a line, or may not be read."""
    instance = {
        "apiVersion": "llm.privatellms.msp/v1alpha1",
        "kind": "LLMInstance",
        "metadata": {"name": "w", "namespace": "acme", "uid": "1"},
        "spec": {"model": "m"},
        "status": {"conditions": [_condition(reason)]},
    }

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/log"):
            return web.Response(text=log or "", status=403 if log is None else 200)
        if request.path.endswith("/w"):
            return web.json_response(instance)
        items = [FETCHING_POD] if request.path.endswith("/pods") else []
        return web.json_response({"items": items, "metadata": {"resourceVersion": "1"}})

    async with _cluster(answer) as cluster:
        seen = await description.gather(cluster, cluster.name("w"))
    return cast("dict[str, str]", seen.document()["notReady"])


async def test_describe_tells_what_a_fetcher_tries_again_because_of() -> None:
    """As ``deploy --wait`` does; the condition has it minutes later, and says to wait until then."""
    finding = await _described("Fetching", TRIES_AGAIN)

    assert finding["reason"] == "SourceFailing"
    assert finding["message"] == "The model's source fails. The hub is silent."
    assert "platform team" in finding["nextStep"]


@pytest.mark.parametrize(
    ("reason", "log"),
    [("Fetching", None), ("Fetching", ""), ("UnknownModel", TRIES_AGAIN)],
    ids=["may not be read", "nothing written", "another cause"],
)
async def test_describe_keeps_to_the_condition_where_the_fetcher_explains_nothing(
    reason: str, log: str | None
) -> None:
    """The log is a courtesy, and explains a download and nothing else."""
    assert (await _described(reason, log))["message"] == f"{reason} it is."
