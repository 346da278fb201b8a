"""Which headers reach the model server, and which the browser, seen at a recording backend."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from edge_route import Route, own_chain, recorded_route
from privatellm.kube import KubeClient

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SERVER_HEADERS = (
    "X-Api-Key",
    "X-Conversation-Id",
    "Last-Event-Id",
    "X-Resp-Type",
    "X-Tool-Cwd",
    "X-Tool-Runtime",
)
"""What llama.cpp's server interprets, written out: a header that the product forgets fails here."""

ORIGIN = "https://chat.example"
OTHER = "https://evil.example"
PREFLIGHT = (
    "Access-Control-Request-Method: POST",
    "Access-Control-Request-Headers: authorization, content-type, x-stainless-lang",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser_route(edge_client: KubeClient, edge_namespace: str) -> AsyncIterator[Route]:
    """A route for which one origin is configured."""
    async with (
        own_chain(edge_client, cors_origins=ORIGIN) as chain,
        recorded_route(edge_client, edge_namespace, "browsed", chain=chain) as route,
    ):
        yield route


@pytest.fixture
def browsed(browser_route: Route) -> Route:
    """The same, with nothing recorded yet."""
    browser_route.recorder.requests.clear()
    return browser_route


@pytest.mark.parametrize("spelling", [str, str.lower, str.upper])
async def test_headers_that_only_the_server_interprets_are_dropped(
    route: Route, spelling: type[str]
) -> None:
    """No customer reads a stream by its conversation's id, or brings another key."""
    answer = await route.say(*(f"{spelling(name)}: x" for name in SERVER_HEADERS), "X-Kept: y")

    assert answer.status == 200
    (seen,) = route.recorder.requests
    assert [name for name in SERVER_HEADERS if seen.values(name)] == []
    assert seen.values("X-Kept") == ["y"]


async def test_a_preflight_of_a_configured_origin_is_answered_at_the_edge(browsed: Route) -> None:
    """It carries no key, and the model server does not hear of it."""
    answer = await browsed.say_unsigned(f"Origin: {ORIGIN}", *PREFLIGHT, method="OPTIONS")

    assert answer.status == 200
    assert answer.values("Access-Control-Allow-Origin") == [ORIGIN]
    (methods,) = answer.values("Access-Control-Allow-Methods")
    assert "POST" in methods
    (headers,) = answer.values("Access-Control-Allow-Headers")
    assert {"Authorization", "Content-Type", "*"} <= set(headers.split(","))
    assert answer.values("Access-Control-Allow-Credentials") == []
    assert browsed.recorder.requests == []


@pytest.mark.parametrize("origin", [OTHER, f"{ORIGIN}.evil.example", f"{ORIGIN}:444", "null"])
async def test_a_preflight_of_another_origin_is_not_allowed(browsed: Route, origin: str) -> None:
    """No answer names it, so its browser stops there."""
    answer = await browsed.say_unsigned(f"Origin: {origin}", *PREFLIGHT, method="OPTIONS")

    assert answer.values("Access-Control-Allow-Origin") == []
    assert browsed.recorder.requests == []


async def test_without_a_configured_origin_no_preflight_is_answered(route: Route) -> None:
    """The default: browsers' pages do not call the API."""
    answer = await route.say_unsigned(f"Origin: {ORIGIN}", *PREFLIGHT, method="OPTIONS")

    assert answer.status == 401
    assert answer.values("Access-Control-Allow-Origin") == []
    assert route.recorder.requests == []


async def test_the_edge_speaks_to_browsers_in_the_servers_place(
    browsed: Route, route: Route
) -> None:
    """The server allows every origin; what reaches a browser is what the platform configured."""
    ours = await browsed.say(f"Origin: {ORIGIN}")
    theirs = await browsed.say(f"Origin: {OTHER}")
    nobodys = await route.say(f"Origin: {OTHER}")

    assert (ours.status, theirs.status, nobodys.status) == (200, 200, 200)
    assert ours.values("Access-Control-Allow-Origin") == [ORIGIN]
    assert ours.values("Access-Control-Expose-Headers") == ["Retry-After"]
    for answer in (theirs, nobodys):
        assert answer.values("Access-Control-Allow-Origin") == []
    for answer in (ours, theirs, nobodys):
        assert answer.values("Access-Control-Allow-Credentials") == []


async def test_a_denial_can_be_read_by_a_configured_origin(browsed: Route) -> None:
    """A page that does not learn why it was refused cannot tell its user."""
    answer = await browsed.say_unsigned(f"Origin: {ORIGIN}")

    assert (answer.status, answer.code) == (401, "invalid_api_key")
    assert answer.values("Access-Control-Allow-Origin") == [ORIGIN]
