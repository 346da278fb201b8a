"""Attacks on the edge by the size and the framing of requests, in HTTP/1.1 and HTTP/2."""

import pytest

import edge_http2
from edge_route import Route
from edge_verdicts import REFUSED, assert_harmless, assert_refused
from edge_wire import CLOSED, Connection, request
from eventually import eventually

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

# Sizes and framing.


async def test_huge_headers_are_refused_before_the_check(route: Route) -> None:
    """The check is sent a copy of every header, so the edge bounds them."""
    for lines in (
        [f"X-Long: {'x' * 100_000}"],
        [f"X-{number}: {'x' * 90}" for number in range(1000)],
    ):
        assert_refused(await route.say(*lines), route)


async def test_a_huge_body_without_a_key_is_answered_before_it_is_sent(route: Route) -> None:
    """Nobody can make the edge take in what nobody pays for."""
    head = request(
        "POST", f"{route.path}/v1/chat/completions", route.host_line, f"Content-Length: {10**12}"
    )
    connection = await Connection.open(route.host, route.port)
    try:
        await connection.send(head)
        answer = await connection.answer()
    finally:
        connection.close()

    assert (answer.status, answer.code) == (401, "invalid_api_key")
    assert route.recorder.requests == []


async def test_a_huge_body_with_a_key_is_passed_on_as_it_comes(route: Route) -> None:
    """The edge collects nothing, so the size of a body is a matter of the model server's alone."""
    path = f"{route.path}/v1/chat/completions"
    head = request("POST", path, route.host_line, route.key_line, f"Content-Length: {10**12}")
    connection = await Connection.open(route.host, route.port)

    async def arrived() -> bool:
        return len(route.recorder.requests) == 1

    try:
        # The rest of the body is never sent.
        await connection.send(head + b" " * 2**16)
        await eventually(arrived, what="the request at the backend")
    finally:
        connection.close()

    assert_harmless(route)


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 4", "Content-Length: 60"),
        ("Content-Length: -1",),
        ("Content-Length: +4",),
        ("Content-Length: 4, 60",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: identity", "Content-Length: 4"),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding:\x0bchunked", "Content-Length: 4"),
    ],
)
async def test_ambiguous_framing_is_refused(route: Route, lines: tuple[str, ...]) -> None:
    """Two readers that see the end of a request in different places would swap answers."""
    smuggled = request("GET", f"{route.path}/props", route.host_line)

    answer = await route.say(
        *lines, method="POST", target=f"{route.path}/v1/chat/completions", body=b"{}\r\n" + smuggled
    )

    assert answer.status in REFUSED
    assert_harmless(route)


async def test_what_follows_a_chunked_body_is_a_request_of_its_own(route: Route) -> None:
    """A length beside chunks is ignored, and the rest has to bring its own key (CVE-2026-71324's class)."""
    smuggled = request("GET", f"{route.path}/v1/models", route.host_line, "Connection: close")
    raw = request(
        "POST",
        f"{route.path}/v1/chat/completions",
        route.host_line,
        route.key_line,
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        body=b"0\r\n\r\n" + smuggled,
    )
    connection = await Connection.open(route.host, route.port)
    try:
        await connection.send(raw)
        first = await connection.answer()
        second = await connection.answer() if first.status == 200 else CLOSED
    finally:
        connection.close()

    assert first.status in {200, 400}
    assert second.status in {0, 400, 401}
    assert_harmless(route)
    assert len(route.recorder.requests) <= 1


# HTTP/2, which the edge speaks to those who begin with it.


def _fields(route: Route, *further: tuple[str, str], **pseudo: str | None) -> list[tuple[str, str]]:
    """Return the fields of an honest request with some pseudo-headers changed or left out."""
    usual: dict[str, str | None] = {
        "method": "GET",
        "scheme": "http",
        "authority": route.authority,
        "path": f"{route.path}/v1/models",
    }
    chosen = [(f":{name}", value) for name, value in (usual | pseudo).items() if value is not None]
    return [*chosen, ("authorization", f"Bearer {route.credentials.api_key}"), *further]


async def test_an_honest_request_in_http_2_is_served(route: Route) -> None:
    """So the refusals below are refusals, and not an edge that does not listen."""
    assert await edge_http2.ask(route.host, route.port, _fields(route))

    assert_harmless(route)
    assert len(route.recorder.requests) == 1


@pytest.mark.parametrize(
    "pseudo",
    [
        {"method": "CONNECT", "scheme": None, "path": None},
        {"method": "CONNECT", "scheme": None, "path": None, "authority": "127.0.0.1:1"},
        {"method": "CONNECT"},
        {"method": "CONNECT", "protocol": "websocket"},
        {"path": "http:evil.example/v1/models"},
        {"path": "*"},
        {"path": ""},
        {"path": "{path}/v1/models HTTP/1.1\r\nX-Smuggled: y"},
        {"authority": "evil.example"},
        {"method": "GET /props HTTP/1.1\r\nX-Smuggled: y\r\n\r\nGET"},
        {"path": "{path}/props"},
    ],
)
async def test_http_2_opens_no_tunnel_and_no_other_path(
    route: Route, pseudo: dict[str, str | None]
) -> None:
    """CONNECT must not leave the backend's connection open to the client (CVE-2026-71324)."""
    filled = {name: value and value.format(path=route.path) for name, value in pseudo.items()}
    ends = filled.get("method") != "CONNECT"

    await edge_http2.ask(route.host, route.port, _fields(route, **filled), ends=ends)

    assert route.recorder.requests == []


@pytest.mark.parametrize(
    "field",
    [
        ("connection", "upgrade"),
        ("upgrade", "h2c"),
        ("transfer-encoding", "chunked"),
        ("host", "evil.example"),
        ("X-Private-Llm-Key-Id", "forged"),
        ("x-private-llm-key-id", "forged"),
        ("x_private_llm_key_id", "forged"),
        ("x-forwarded-uri", "/props"),
        ("x", "y\r\nX-Smuggled: y"),
        (":path", "/props"),
        ("authorization", "Bearer x"),
    ],
)
async def test_http_2_carries_no_header_that_http_1_would_not(
    route: Route, field: tuple[str, str]
) -> None:
    """A translation between versions must add nothing to what the backend sees."""
    await edge_http2.ask(route.host, route.port, _fields(route, field))

    assert_harmless(route)
    assert not any(seen.values("X-Smuggled") for seen in route.recorder.requests)
