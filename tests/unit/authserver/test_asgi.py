"""The application as a client sees it, without a socket."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from auth_world import (
    NOW,
    PLATFORM_KEY,
    UPTIME,
    Headers,
    World,
    make_key,
    question,
    question_for,
)
from privatellm_authserver.asgi import VerifyApp
from privatellm_authserver.audit import AuditLog
from privatellm_authserver.metrics import Meter


class Clocks:
    """Both clocks, set by tests."""

    wall = NOW.timestamp()
    uptime = UPTIME


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def app(world: World, meter: Meter, clocks: Clocks) -> VerifyApp:
    return VerifyApp(
        world.reader, world.index, meter, AuditLog(), lambda: clocks.wall, lambda: clocks.uptime
    )


@pytest.fixture
async def http(app: VerifyApp) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://auth") as client:
        client.headers.clear()
        yield client


async def ask(http: httpx.AsyncClient, headers: Headers) -> httpx.Response:
    return await http.get("/auth/verify", headers=headers)


async def test_an_allowed_request_is_answered_with_identity_and_backend_key(
    http: httpx.AsyncClient, world: World
) -> None:
    """Empty body; Traefik puts these headers in place of the tenant's."""
    key = world.key()

    answer = await ask(http, question_for(key))

    assert (answer.status_code, answer.content) == (200, b"")
    assert dict(answer.headers) == {
        "content-length": "0",
        "authorization": f"Bearer {PLATFORM_KEY.backend_key(key.uid)}",
        "x-private-llm-key-id": key.token.key_id,
        "x-private-llm-instance": key.slug,
    }


async def test_a_denied_request_is_answered_with_an_error_object(
    http: httpx.AsyncClient, world: World
) -> None:
    """And with nothing about the key or the instance."""
    key = make_key()

    answer = await ask(http, question_for(key))

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert key.token.key_id not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/auth/verify"),
        ("HEAD", "/auth/verify"),
        ("GET", "/"),
        ("GET", "/auth/verify/"),
        ("GET", "/auth"),
        ("GET", "/healthz"),
        ("GET", "/metrics"),
    ],
)
async def test_the_verify_port_serves_nothing_else(
    http: httpx.AsyncClient, world: World, meter: Meter, method: str, path: str
) -> None:
    """Not even to the holder of a key, and without any work."""
    answer = await http.request(method, path, headers=question_for(world.key()))

    assert answer.status_code == 404
    assert sum(meter.totals().decisions.values()) == 0


async def test_other_protocols_are_not_served(app: VerifyApp) -> None:
    """A web socket is no question of Traefik's."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    await app({"type": "websocket", "path": "/auth/verify"}, receive, send)

    assert sent[0]["status"] == 404


async def test_a_stale_index_is_answered_by_503(
    http: httpx.AsyncClient, world: World, clocks: Clocks
) -> None:
    """With the time after which to try again; a confirmation ends it."""
    headers = question_for(world.key())
    clocks.uptime = UPTIME + 61

    stale = await ask(http, headers)
    world.index.confirm(clocks.uptime)
    fresh = await ask(http, headers)

    assert (stale.status_code, stale.headers["retry-after"]) == (503, "5")
    assert fresh.status_code == 200


async def test_decisions_are_counted_and_uses_remembered(
    http: httpx.AsyncClient, world: World, meter: Meter
) -> None:
    """A denied request is no use of a key."""
    key, expired = world.key(), world.key(not_after=NOW - timedelta(days=1))

    await ask(http, question_for(key))
    await ask(http, question_for(expired))
    await ask(http, question(None, "/"))

    decisions = meter.totals().decisions
    assert [decisions[n] for n in ("allowed", "expired_api_key", "invalid_api_key")] == [1, 1, 1]
    assert meter.take_uses() == {key.token.key_id: 1}


async def test_answers_do_not_mix_under_concurrency(http: httpx.AsyncClient, world: World) -> None:
    """Messages that are made once are shared by all requests and changed by none."""
    keys = [world.key(f"uid-{number}") for number in range(50)]
    questions = [question_for(key) for key in keys] + [question(None, "/")] * 50

    answers = await asyncio.gather(*(ask(http, headers) for headers in questions))

    identities = [answer.headers.get("x-private-llm-key-id") for answer in answers]
    assert identities == [key.token.key_id for key in keys] + [None] * 50
