"""Attacks on the edge in raw bytes, through real Traefik; a recording backend is the witness.

Each test stands for a row of the project's table of Traefik advisories, or for a class of attack on
ForwardAuth that others were hit by. What must hold is said once, in ``edge_verdicts.assert_harmless``:
whatever the answer, the backend saw only requests that the check allows, with its own key and our
identity headers.
"""

import base64

import pytest

from edge_route import Route
from edge_verdicts import FORWARDED, IDENTITY, REFUSED, assert_harmless, assert_refused
from edge_wire import request

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SEPARATORS = "!#$%&'*+.^_`|~"
"""Every character of a header's name that is neither alphanumeric nor a hyphen (RFC 9110)."""

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
