import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from eventually import eventually
from node_builders import container
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pod import Probe
from privatellm_local.node.probes import Prober, Tally, refuse_unsupported


class Heard:
    """Remembers what the probes say."""

    def __init__(self) -> None:
        self.words: list[object] = []

    def started(self) -> None:
        """Remember it."""
        self.words.append("started")

    def ready(self, ready: bool) -> None:
        """Remember it."""
        self.words.append(ready)

    def failed(self, message: str) -> None:
        """Remember it."""
        self.words.append(message)


class Server:
    """Answers with the status that it is told to."""

    def __init__(self) -> None:
        self.status = 200
        self.port = 0

    async def answer(self, _: web.Request) -> web.Response:
        """Answer a probe."""
        return web.Response(status=self.status, headers={"Location": "http://127.0.0.1:1/"})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_get("/health", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    yield server
    await runner.cleanup()


@pytest.fixture
async def prober() -> AsyncIterator[Prober]:
    prober = Prober.create()
    yield prober
    await prober.close()


def http(server: Server, **fields: Any) -> dict[str, Any]:
    return {"httpGet": {"path": "/health", "port": server.port}, "periodSeconds": 0.01, **fields}


def tally(answers: list[bool], **thresholds: int) -> bool | None:
    result, probe = Tally(), Probe.model_validate(thresholds)
    for answer in answers:
        result = result.observe(answer, probe)
    return result.holds


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], None),
        ([False], None),
        ([False, False], None),
        ([False, False, False], False),
        ([False, False, True, False, False], None),
        ([True], None),
        ([True, True], True),
        ([True, True, False, False], True),
        ([True, True, False, False, False], False),
        ([False, False, False, True], False),
        ([False, False, False, True, True], True),
    ],
)
def test_an_opinion_changes_only_after_its_threshold(
    answers: list[bool], expected: bool | None
) -> None:
    """Answers count in a row; two good ones or three bad ones here."""
    assert tally(answers, success_threshold=2, failure_threshold=3) is expected


async def test_without_probes_a_container_is_started(prober: Prober) -> None:
    """There is nobody to ask."""
    heard = Heard()

    await prober.attend(container(), "127.0.0.1", heard)

    assert heard.words == ["started"]


async def test_readiness_follows_the_answers(prober: Prober, server: Server) -> None:
    """Each change of mind is told once; a redirect counts as good and is not followed."""
    heard = Heard()
    subject = container(readinessProbe=http(server, failureThreshold=2))

    async def words(*expected: object) -> None:
        async def look() -> bool:
            return heard.words == ["started", *expected]

        await eventually(look, what=f"{expected}")

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(prober.attend(subject, "127.0.0.1", heard))
        await words(True)
        server.status = 503
        await words(True, False)
        server.status = 302
        await words(True, False, True)
        asking.cancel()


async def test_a_container_is_started_when_its_startup_probe_passes(
    prober: Prober, server: Server
) -> None:
    """The other probes wait for it."""
    heard = Heard()
    server.status = 503
    subject = container(
        startupProbe=http(server, failureThreshold=10_000), readinessProbe=http(server)
    )

    async def look() -> bool:
        return heard.words == ["started", True]

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(prober.attend(subject, "127.0.0.1", heard))
        assert heard.words == []
        server.status = 200
        await eventually(look)
        asking.cancel()


@pytest.mark.parametrize(
    ("kind", "before", "said"),
    [("startupProbe", [], "Startup"), ("livenessProbe", ["started"], "Liveness")],
)
async def test_a_probe_that_gives_up_says_what_it_saw(
    prober: Prober, server: Server, kind: str, before: list[str], said: str
) -> None:
    """And asks no more."""
    heard = Heard()
    server.status = 500

    await prober.attend(container(**{kind: http(server)}), "127.0.0.1", heard)

    assert heard.words[:-1] == before
    assert str(heard.words[-1]).startswith(f"{said} probe failed: HTTP status 500")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"tcpSocket": {"port": 1}}, "Connect"),
        ({"tcpSocket": {"port": "absent"}}, "no port named absent"),
        ({"httpGet": {"port": 1}}, "onnect"),
    ],
)
async def test_what_does_not_answer_has_failed(
    prober: Prober, action: dict[str, Any], said: str
) -> None:
    """Refused connections and unknown ports are complaints, not errors of ours."""
    heard = Heard()
    probe = {**action, "periodSeconds": 0.01, "failureThreshold": 2}

    await prober.attend(container(livenessProbe=probe), "127.0.0.1", heard)

    assert said in str(heard.words[-1])


async def test_an_open_port_is_enough_for_a_tcp_probe(prober: Prober, server: Server) -> None:
    """Ports may be named."""
    heard = Heard()
    subject = container(
        ports=[{"name": "web", "containerPort": server.port}],
        startupProbe={"tcpSocket": {"port": "web"}},
    )

    await prober.attend(subject, "127.0.0.1", heard)

    assert heard.words == ["started"]


@pytest.mark.parametrize("action", [{"exec": {"command": ["ls"]}}, {"grpc": {"port": 1}}])
@pytest.mark.parametrize("kind", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_that_cannot_be_asked_refuse_the_container(
    kind: str, action: dict[str, Any]
) -> None:
    """A probe that is silently never asked would be worse."""
    with pytest.raises(ContainerRefusedError, match="httpGet and tcpSocket"):
        refuse_unsupported(container(**{kind: action}))
