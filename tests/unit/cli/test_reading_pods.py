import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.client import Configuration

from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm_cli import downloads, pod_logs
from privatellm_cli.cluster import Cluster
from privatellm_cli.pod_logs import LogQuery
from privatellm_local.progress import SilentProgress


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"event": "progress", "bytes": 63_000_000, "total_bytes": 253_000_000},
            "24 % of 253 MB",
        ),
        ({"event": "progress", "bytes": 63_000_000}, "63 MB"),
        ({"event": "verified", "bytes": 63_000_000}, ""),
        ({"event": "progress", "bytes": "many"}, ""),
        ("a string", ""),
    ],
)
def test_progress_is_read_off_the_fetchers_log(entry: Any, expected: str) -> None:
    """Other lines say nothing about how far it is."""
    assert downloads.detail_of(json.dumps(entry).encode()) == expected
    assert downloads.detail_of(b"not json") == ""


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

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        configuration = Configuration()
        configuration.host = str(server.make_url("/"))
        async with KubeClient(Credentials(None, configuration)) as client:
            yield Cluster(client, "acme")


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
