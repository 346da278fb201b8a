"""Attacks on the edge in raw bytes, through real Traefik; a recording backend is the witness.

Each test stands for a row of the project's table of Traefik advisories, or for a class of attack on
ForwardAuth that others were hit by. What must hold is said once, in :func:`assert_harmless`: whatever the
answer, the backend saw only requests that the check allows, with its own key and our identity headers.
"""

import base64
import re

import pytest

import edge_http2
from edge_route import Route
from edge_wire import CLOSED, Answer, Connection, request
from privatellm_authserver.paths import ALLOWED

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SEPARATORS = "!#$%&'*+.^_`|~"
"""Every character of a header's name that is neither alphanumeric nor a hyphen (RFC 9110)."""

IDENTITY = ("X-Private-Llm-Key-Id", "X-Private-Llm-Instance")
FORWARDED = ("X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host")
REFUSED = {0, 400, 401, 403, 404, 405, 421, 431, 501}
"""Statuses of a refusal; 0 stands for a connection that was closed."""


def assert_harmless(route: Route) -> None:
    """Check that the backend was asked nothing that a key does not open, by nobody but us."""
    for seen in route.recorder.requests:
        method, path = seen.target
        assert (method.encode(), path.encode()) in ALLOWED, seen.request_line
        assert seen.values(IDENTITY[0]) == [route.key_id]
        assert seen.values(IDENTITY[1]) == [route.slug]
        (authorization,) = seen.values("Authorization")
        assert re.fullmatch(r"Bearer [0-9a-f]{64}", authorization)
        assert not seen.values("Upgrade")
        for name, value in seen.headers:
            assert route.credentials.api_key not in value, name
            folded = re.sub(r"[^a-z0-9]", "-", name.lower())
            assert folded not in map(str.lower, IDENTITY) or name in IDENTITY


def assert_refused(answer: Answer, route: Route) -> None:
    """Check that nothing at all reached the backend."""
    assert answer.status in REFUSED
    assert route.recorder.requests == []


# Headers that claim to be ours.


@pytest.mark.parametrize("spelling", [str, str.lower, str.upper])
async def test_identity_headers_of_a_client_are_replaced(route: Route, spelling: type[str]) -> None:
    """In every case, and when they are repeated (CVE-2026-33433)."""
    forged = [f"{spelling(name)}: forged" for name in IDENTITY]

    answer = await route.say(*forged, *forged)

    assert answer.status == 200
    assert_harmless(route)
    assert len(route.recorder.requests) == 1


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("name", [*IDENTITY, *FORWARDED])
async def test_aliases_of_trusted_headers_do_no_harm(
    route: Route, name: str, separator: str
) -> None:
    """A backend that folds names must never meet a forged one (CVE-2026-39858, CVE-2026-54763)."""
    alias = name.replace("-", separator)

    answer = await route.say(f"{alias}: forged")

    assert answer.status in {200, 403}
    assert_harmless(route)
    assert not any(seen.values(alias) for seen in route.recorder.requests)


async def test_forwarded_headers_of_a_client_decide_nothing(route: Route) -> None:
    """What is asked for is the real path, method and host (CVE-2026-35051, CVE-2026-54764)."""
    lies = [
        f"X-Forwarded-Uri: {route.path}/v1/models",
        "X-Forwarded-Method: GET",
        f"X-Forwarded-Host: {route.authority}",
        "X-Forwarded-Prefix: /",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 443",
        f"X-Original-Url: {route.path}/v1/models",
        f"X-Rewrite-Url: {route.path}/v1/models",
        "X-Http-Method-Override: GET",
        f"Forwarded: for=127.0.0.1;host={route.authority};proto=https",
    ]

    assert_refused(await route.say(*lies, target=f"{route.path}/props"), route)
    assert_refused(await route.say(*lies, method="DELETE"), route)
    wrong_host = request(
        "GET", f"{route.path}/v1/models", "Host: evil.example", route.key_line, *lies
    )
    assert_refused(await route.raw(wrong_host), route)


async def test_forwarded_headers_that_lie_do_not_stop_an_honest_request(route: Route) -> None:
    """They are rebuilt by Traefik, so nobody can be locked out by a proxy that adds its own."""
    answer = await route.say("X-Forwarded-Uri: /x", "X-Forwarded-Host: evil.example")

    assert answer.status == 200
    assert_harmless(route)


@pytest.mark.parametrize("named", [*FORWARDED, *IDENTITY, "Authorization", "authorization"])
@pytest.mark.parametrize("spelling", [str, str.lower])
async def test_connection_cannot_take_headers_away(
    route: Route, named: str, spelling: type[str]
) -> None:
    """A hop-by-hop list of the client must not remove what the edge adds (CVE-2024-45410, -29054)."""
    answer = await route.say(f"Connection: keep-alive, {spelling(named)}", f"{named}: forged")

    # A second Authorization is refused by itself.
    assert answer.status == (401 if named.lower() == "authorization" else 200)
    assert_harmless(route)


async def test_connection_that_names_the_key_does_not_let_it_through(route: Route) -> None:
    """Neither the key nor an unidentified request reaches the backend."""
    answer = await route.say("Connection: Authorization, X-Private-Llm-Key-Id")

    assert answer.status in {200, 401}
    assert_harmless(route)


# Paths.

OUTSIDE = (
    "/props",
    "/slots",
    "/slots/0?action=erase",
    "/metrics",
    "/lora-adapters",
    "/tools",
    "/cors-proxy",
    "/apply-template",
    "/infill",
    "/models/load",
    "/v1/streams",
    "/v1/stream/conversation",
    "/v1/messages",
    "/",
    "",
    "/V1/models",
    "/v1/models/",
    "/v1/models;x=1",
    "/v1/models%20",
    "/v1/models%00",
    "/v1/models%0d%0aX: y",
    "/v1%2fmodels",
    "/v1%5cmodels",
    "/v1/..%2fprops",
    "/v1/%2e%2e/props",
    "/v1/.%2e/props",
    "/v1/%2E%2E%2Fprops",
    "/v1/..%5cprops",
    "/v1/%252e%252e/props",
    "/v1/%c0%ae%c0%ae/props",
    "/v1/../props",
    "/v1/./../props",
    "/v1/models/../../props",
    "/v1/models/..",
    "../props",
    "..%2fprops",
    "%2e%2e/props",
    "/..;/props",
    "/v1/models#/../props",
    "/v1/models?/../../props/../",
    "//props",
    "///v1//..//props",
    "\\v1\\models",
    "/v1/models\\..\\props",
)


@pytest.mark.parametrize("rest", OUTSIDE)
async def test_no_spelling_of_a_path_leads_out_of_the_allow_list(route: Route, rest: str) -> None:
    """Traversal, encodings, parameters and fragments (CVE-2026-48020, -40912, CVE-2025-66490, -47952)."""
    answer = await route.say(target=f"{route.path}{rest}")

    assert answer.status in REFUSED | {200}
    assert_harmless(route)


@pytest.mark.parametrize(
    "rest", [path for path in OUTSIDE if path.startswith("/") and "." not in path]
)
async def test_posting_is_no_other_way_out(route: Route, rest: str) -> None:
    """The allow-list is one of methods and paths."""
    answer = await route.say(
        "Content-Length: 2", method="POST", target=route.path + rest, body=b"{}"
    )

    assert_refused(answer, route)


@pytest.mark.parametrize(
    "target",
    [
        "{path}x/v1/models",
        "{path}/../{other}/v1/models",
        "/llm/{other}/../{slug}/../{other}/v1/models",
        "/llm/{other}/v1/models",
        "/llm//v1/models",
        "/LLM/{slug}/v1/models",
        "/llm/{upper}/v1/models",
        "/llm%2f{slug}/v1/models",
        "/%6clm/{other}/v1/models",
        "/v1/models",
        "/",
    ],
)
async def test_a_key_opens_its_own_slug_and_nothing_beside_it(route: Route, target: str) -> None:
    """Slugs are whole segments, and traversal does not lead to another one."""
    slug, other = route.slug, "a" * 16
    filled = target.format(path=route.path, slug=slug, upper=slug.upper(), other=other)

    assert_refused(await route.say(target=filled), route)


async def test_slashes_are_collapsed_before_the_check_or_refused(route: Route) -> None:
    """What the check judged is what the backend gets."""
    for target in (
        f"{route.path}//v1/models",
        f"/{route.path}/v1/models",
        f"{route.path}/v1//models",
    ):
        answer = await route.say(target=target)

        assert answer.status in REFUSED | {200}
        assert_harmless(route)


async def test_an_absolute_target_is_judged_by_its_own_host(route: Route) -> None:
    """The target's authority counts, whatever the Host header says (RFC 9112, CVE-2026-32695)."""
    path = f"{route.path}/v1/models"

    assert (await route.say(target=f"http://{route.authority}{path}")).status == 200
    assert_harmless(route)
    route.recorder.requests.clear()
    for foreign in (f"http://evil.example{path}", f"http://user@evil.example{path}"):
        assert_refused(await route.say(target=foreign), route)


@pytest.mark.parametrize(
    "target",
    [
        "http:{authority}{path}/v1/models",
        "http:evil.example{path}/v1/models",
        "http:/{path}/v1/models",
        "file:///etc/passwd",
        "{authority}{path}/v1/models",
        "*",
        "?{path}/v1/models",
        "{path}/v1/models HTTP/1.1\r\nX-Smuggled: y\r\nX: ",
    ],
)
async def test_opaque_targets_reach_nothing(route: Route, target: str) -> None:
    """A target without a path must not escape routing (Traefik #13796)."""
    answer = await route.say(target=target.format(authority=route.authority, path=route.path))

    assert answer.status in REFUSED | {200}
    assert_harmless(route)
    assert not any(seen.values("X-Smuggled") for seen in route.recorder.requests) or (
        len(route.recorder.requests) == 1
    )


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", "", "a b"]
)
async def test_other_hosts_are_refused(route: Route, host: str) -> None:
    """Only the public host is served."""
    raw = request("GET", f"{route.path}/v1/models", f"Host: {host}", route.key_line)

    assert_refused(await route.raw(raw), route)


async def test_two_hosts_are_refused(route: Route) -> None:
    """Two readers could take different ones."""
    assert_refused(await route.say("Host: evil.example"), route)


# Methods and upgrades.


@pytest.mark.parametrize(
    "method",
    ["TRACE", "OPTIONS", "PUT", "PATCH", "DELETE", "HEAD", "PROPFIND", "get", "GETX", "G\tET"],
)
async def test_methods_outside_the_allow_list_are_refused(route: Route, method: str) -> None:
    """TRACE would show the backend's key; a backend may take a method in another case for GET."""
    assert_refused(await route.say(method=method), route)


@pytest.mark.parametrize("target", ["{authority}", "127.0.0.1:1", "{path}/v1/models", "*"])
async def test_connect_opens_nothing(route: Route, target: str) -> None:
    """No tunnel to anywhere."""
    filled = target.format(authority=route.authority, path=route.path)

    assert_refused(await route.say(method="CONNECT", target=filled), route)


@pytest.mark.parametrize(
    "lines",
    [
        ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        (
            "Connection: Upgrade, HTTP2-Settings",
            "Upgrade: h2c",
            "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        ),
        ("connection: upgrade", "UPGRADE: H2C"),
        ("Connection: keep-alive", "Connection: Upgrade", "Upgrade: h2c", "Upgrade: websocket"),
        ("Upgrade: TLS/1.0",),
    ],
)
async def test_no_upgrade_reaches_the_backend(route: Route, lines: tuple[str, ...]) -> None:
    """A tunnel would pass every middleware of later requests by (CVE-2026-88008)."""
    answer = await route.say(*lines)

    assert answer.status in REFUSED | {200}
    assert_harmless(route)
    for seen in route.recorder.requests:
        assert "upgrade" not in ",".join(seen.values("Connection")).lower()


async def test_the_preface_of_http_2_opens_no_way_around_the_check(route: Route) -> None:
    """A request that follows it in HTTP/1.1 is not served."""
    smuggled = request("GET", f"{route.path}/props", route.host_line, route.key_line)

    await route.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + smuggled)

    assert route.recorder.requests == []


# Keys in the wrong place or form.


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "BeArEr"])
async def test_the_scheme_has_no_case(route: Route, scheme: str) -> None:
    """RFC 9110, 11.1."""
    answer = await route.say_unsigned(f"authorization: {scheme} {route.credentials.api_key}")

    assert answer.status == 200
    assert_harmless(route)


async def test_a_key_in_any_other_place_is_refused(route: Route) -> None:
    """Basic with the key as user or password, no scheme, another scheme, other headers, a cookie."""
    key = route.credentials.api_key
    basic = [base64.b64encode(pair.encode()).decode() for pair in (f"x:{key}", f"{key}:", key)]
    for line in (
        *(f"Authorization: Basic {text}" for text in basic),
        f"Authorization: {key}",
        f"Authorization: Token {key}",
        f"Authorization: Bearer{key}",
        f"Authorization: Bearer\t{key}",
        f"Authorization: Bearer {key},Bearer {key}",
        f"Authorization: Bearer {key} x",
        f"Proxy-Authorization: Bearer {key}",
        f"X-Api-Key: {key}",
        f"Api-Key: {key}",
        f"X-Authorization: Bearer {key}",
        f"Cookie: Authorization=Bearer {key}",
    ):
        answer = await route.say_unsigned(line)

        assert (answer.status, answer.code) == (401, "invalid_api_key"), line.partition(":")[0]
        assert answer.values("WWW-Authenticate") == ["Bearer"]
    assert route.recorder.requests == []


@pytest.mark.parametrize("name", ["key", "api_key", "access_token", "Authorization"])
async def test_a_key_in_the_query_is_never_looked_at(route: Route, name: str) -> None:
    """It is no credential, and beside a good credential it changes nothing."""
    target = f"{route.path}/v1/models?{name}=Bearer%20{route.credentials.api_key}"

    assert (await route.say_unsigned(target=target)).status == 401
    assert route.recorder.requests == []
    assert (await route.say(target=f"{route.path}/v1/models?{name}=wrong")).status == 200
    assert_harmless(route)


async def test_two_authorization_headers_are_refused(route: Route) -> None:
    """Good and bad in either order, good twice: two readers could take different ones."""
    bad = "Authorization: Bearer pllm_wrong"
    for lines in ((route.key_line, bad), (bad, route.key_line), (route.key_line, route.key_line)):
        answer = await route.say_unsigned(*lines)

        assert (answer.status, answer.code) == (401, "invalid_api_key")
    assert route.recorder.requests == []


@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization : Bearer {key}",),
        (" Authorization: Bearer {key}",),
        ("X: y\r\n Authorization: Bearer {key}",),
        ("Authorization: Bearer\r\n {key}",),
        ("Authorization: Bearer {key}\x00",),
        ("Auth\x00orization: Bearer {key}",),
    ],
)
async def test_malformed_header_lines_carry_no_key(route: Route, lines: tuple[str, ...]) -> None:
    """Blanks before the colon, folded lines, control characters."""
    filled = [line.format(key=route.credentials.api_key) for line in lines]

    answer = await route.say_unsigned(*filled)

    # A folded value is put together again by some readers: then it is the key's own value.
    assert answer.status in {0, 400, 401} or lines[0].startswith("Authorization: Bearer\r\n")
    assert_harmless(route)


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
