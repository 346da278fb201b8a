"""The table of the decision, one named dimension at a time; its near misses are in another module."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth_world import (
    CHAT,
    MAX_STALENESS,
    NOW,
    PUBLIC_HOST,
    UPTIME,
    Headers,
    World,
    make_key,
    question,
    question_for,
)
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Decision, Denied, Reason, verify
from privatellm_authserver.index import Allowed
from privatellm_authserver.paths import ALLOWED

FRESH = Moment(NOW.timestamp(), UPTIME)


def decide(world: World, headers: Headers, now: Moment = FRESH) -> Decision:
    return verify(world.reader.read(headers), world.index, now)


def reason_of(decision: Decision) -> Reason:
    assert isinstance(decision, Denied)
    return decision.reason


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(("method", "path"), sorted(ALLOWED))
def test_the_right_key_opens_every_listed_path(world: World, method: bytes, path: bytes) -> None:
    """The allow-list of the design is served, and the answer names key and instance."""
    key = world.key()

    decision = decide(world, question_for(key, path.decode(), method.decode()))

    assert isinstance(decision, Allowed)
    assert decision.key_id == key.key_id
    assert (decision.instance.uid, decision.instance.slug) == (key.uid, key.slug.encode())


@pytest.mark.parametrize(
    ("age", "allowed"), [(0.0, True), (MAX_STALENESS, True), (MAX_STALENESS + 0.1, False)]
)
def test_an_index_that_was_not_confirmed_lately_lets_nobody_in(
    world: World, age: float, allowed: bool
) -> None:
    """The staleness clock is the time since boot, not the wall clock."""
    key = world.key()

    decision = decide(world, question_for(key), Moment(NOW.timestamp(), UPTIME + age))

    assert isinstance(decision, Allowed) is allowed
    assert allowed or reason_of(decision) is Reason.INDEX_NOT_FRESH


def test_an_index_that_never_saw_a_list_lets_nobody_in() -> None:
    """A verifier alone does not make the index trusted."""
    world = World()
    key = make_key()
    never = type(world.index)(world.index._reader, MAX_STALENESS)
    never.put(key.secret, UPTIME)

    decision = verify(world.reader.read(question_for(key)), never, FRESH)

    assert reason_of(decision) is Reason.INDEX_NOT_FRESH


def _with(text: str, position: int, character: str) -> str:
    return text[:position] + character + text[position + 1 :]


WRONG_AUTHORIZATIONS: dict[str, Callable[[str], str | None]] = {
    "absent": lambda _token: None,
    "empty": lambda _token: "",
    "scheme alone": lambda _token: "Bearer",
    "no scheme": lambda token: token,
    "basic": lambda token: f"Basic {token}",
    "no space": lambda token: f"Bearer{token}",
    "a tab": lambda token: f"Bearer\t{token}",
    "two tokens": lambda token: f"Bearer {token} {token}",
    "a list": lambda token: f"Bearer {token},{token}",
    "quoted": lambda token: f'Bearer "{token}"',
    "cut": lambda token: f"Bearer {token[:-1]}",
    "longer": lambda token: f"Bearer {token}0",
    "upper case": lambda token: f"Bearer {token.upper()}",
    "another prefix": lambda token: f"Bearer {token.replace('pllm', 'PLLM')}",
    "another checksum": lambda token: f"Bearer {token[:-1]}!",
    "SQL": lambda _token: "Bearer ' OR '1'='1",
    "another secret": lambda token: f"Bearer {Token(Token.parse(token).key_id, 'A' * 43).reveal()}",
    "unknown key id": lambda token: f"Bearer {Token('a' * 12, Token.parse(token).secret).reveal()}",
}


@pytest.mark.parametrize("spelling", WRONG_AUTHORIZATIONS)
def test_whatever_is_not_exactly_one_known_token_is_an_invalid_key(
    world: World, spelling: str
) -> None:
    """Nothing but the whole token opens; nobody learns which part was wrong."""
    key = world.key()
    authorization = WRONG_AUTHORIZATIONS[spelling](key.token.reveal())

    decision = decide(world, question(authorization, f"/llm/{key.slug}{CHAT}"))

    assert reason_of(decision) is Reason.INVALID_KEY


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
@pytest.mark.parametrize("space", [" ", "   "])
def test_the_scheme_is_case_insensitive(world: World, scheme: str, space: str) -> None:
    """RFC 9110 11.1; some clients write it in lower case."""
    key = world.key()
    authorization = f"{scheme}{space}{key.token.reveal()}"

    assert isinstance(decide(world, question(authorization, f"/llm/{key.slug}{CHAT}")), Allowed)


@pytest.mark.parametrize("second", ["same", "other"])
def test_a_repeated_authorization_header_is_an_invalid_key(world: World, second: str) -> None:
    """Two readers might pick different ones, so neither counts."""
    key, other = world.key(), world.key("uid-2")
    again = (key if second == "same" else other).token.reveal()

    headers = question_for(key, extra=[(b"authorization", f"Bearer {again}".encode())])

    assert reason_of(decide(world, headers)) is Reason.INVALID_KEY


def test_a_third_authorization_header_does_not_undo_the_second(world: World) -> None:
    """Repetition is not a matter of even and odd."""
    key = world.key()
    again = (b"authorization", f"Bearer {key.token.reveal()}".encode())

    assert reason_of(decide(world, question_for(key, extra=[again, again]))) is Reason.INVALID_KEY


def test_a_key_in_the_query_is_never_looked_at(world: World) -> None:
    """A key in a URL ends up in logs, so it must not work."""
    key = world.key()
    uri = f"/llm/{key.slug}{CHAT}?api_key={key.token.reveal()}&access_token={key.token.reveal()}"

    assert reason_of(decide(world, question(None, uri))) is Reason.INVALID_KEY


@pytest.mark.parametrize(
    ("issued_in", "allowed"), [(-1, True), (0, True), (60, True), (61, False), (3600, False)]
)
def test_not_before_tolerates_a_minute(world: World, issued_in: int, allowed: bool) -> None:
    """Our clock may lag behind the API server's by that much."""
    key = world.key(not_before=NOW + timedelta(seconds=issued_in))

    decision = decide(world, question_for(key))

    assert isinstance(decision, Allowed) is allowed
    assert allowed or reason_of(decision) is Reason.INVALID_KEY


@pytest.mark.parametrize(("expires_in", "allowed"), [(1, True), (0, False), (-1, False)])
def test_expiry_has_no_leeway(world: World, expires_in: int, allowed: bool) -> None:
    """A key is dead in the second it names."""
    key = world.key(not_after=NOW + timedelta(seconds=expires_in))

    decision = decide(world, question_for(key))

    assert isinstance(decision, Allowed) is allowed
    assert allowed or reason_of(decision) is Reason.EXPIRED_KEY


def test_the_holder_of_a_revoked_key_is_told(world: World) -> None:
    """Deleting the verifier is the revocation."""
    key = world.key()
    world.index.remove(key.verifier_name, UPTIME)

    assert reason_of(decide(world, question_for(key))) is Reason.REVOKED_KEY


@pytest.mark.parametrize("state", ["expired", "revoked", "both"])
def test_only_the_holder_of_the_secret_learns_of_expiry_and_revocation(
    world: World, state: str
) -> None:
    """A key id is public; its state is not."""
    key = world.key(not_after=None if state == "revoked" else NOW - timedelta(days=1))
    if state != "expired":
        world.index.remove(key.verifier_name, UPTIME)
    forged = replace(key, token=Token(key.token.key_id, "B" * 43))

    right, wrong = decide(world, question_for(key)), decide(world, question_for(forged))

    assert reason_of(right) is (Reason.REVOKED_KEY if state == "revoked" else Reason.EXPIRED_KEY)
    assert reason_of(wrong) is Reason.INVALID_KEY


@pytest.mark.parametrize(
    "uri",
    [
        "/",
        "",
        "/v1/models",
        f"/llm/{slug_of('uid-2')}{CHAT}",
        f"/llm/{slug_of('none')}{CHAT}",
        "/llm/x/v1",
    ],
)
def test_a_key_opens_no_path_but_its_own(world: World, uri: str) -> None:
    """The path of another instance, of one that does not exist, or of none."""
    key = world.key()
    world.key("uid-2")

    decision = decide(world, question(f"Bearer {key.token.reveal()}", uri))

    assert reason_of(decision) is (Reason.WRONG_INSTANCE if uri else Reason.FACTS_MISSING)


@pytest.mark.parametrize("name", ["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"])
@pytest.mark.parametrize("fault", ["missing", "repeated", "empty"])
def test_forwarded_headers_must_be_there_once(world: World, name: str, fault: str) -> None:
    """``Connection: X-Forwarded-Host`` removes a header at some proxies (CVE-2024-45410)."""
    key = world.key()
    headers = dict(question_for(key))
    value = headers.pop(name.encode())
    faulty = list(headers.items())
    faulty += {
        "missing": [],
        "repeated": [(name.encode(), value)] * 2,
        "empty": [(name.encode(), b"")],
    }[fault]

    assert reason_of(decide(world, faulty)) is Reason.FACTS_MISSING


@pytest.mark.parametrize("separator", list("_.!#$%&'*+^`|~"))
@pytest.mark.parametrize(
    "name",
    [
        "x-forwarded-uri",
        "x-forwarded-method",
        "x-forwarded-host",
        "x-private-llm-key-id",
        "x-private-llm-instance",
    ],
)
def test_a_header_that_is_named_almost_like_ours_is_refused(
    world: World, name: str, separator: str
) -> None:
    """Every character that HTTP allows in a name and some reader folds (CVE-2026-39858)."""
    key = world.key()
    alias = name.replace("-", separator).encode()

    assert (
        reason_of(decide(world, question_for(key, extra=[(alias, b"x")]))) is Reason.ALIASED_HEADER
    )


@pytest.mark.parametrize("name", ["x-private-llm-key-id", "x-private-llm-instance"])
def test_identity_headers_of_the_client_are_left_to_traefik(world: World, name: str) -> None:
    """Traefik deletes them before it sets ours; they decide nothing here."""
    key = world.key()

    decision = decide(world, question_for(key, extra=[(name.encode(), b"somebody")]))

    assert isinstance(decision, Allowed)
    assert decision.key_id == key.key_id


@pytest.mark.parametrize("host", ["evil.example.com", "llm.example.com:8443", "llm.example.com."])
def test_another_host_is_refused(world: World, host: str) -> None:
    """A rule that routes a foreign host here must not work (CVE-2026-32695)."""
    key = world.key()

    assert reason_of(decide(world, question_for(key, host=host))) is Reason.WRONG_HOST


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", CHAT),
        ("post", CHAT),
        ("DELETE", "/v1/models"),
        ("OPTIONS", CHAT),
        ("CONNECT", CHAT),
        ("POST", "/slots"),
        ("GET", "/slots"),
        ("GET", "/props"),
        ("POST", "/props"),
        ("GET", "/metrics"),
        ("GET", "/lora-adapters"),
        ("POST", "/v1/tools"),
        ("GET", "/"),
        ("GET", ""),
        ("GET", "/v1/models/"),
        ("GET", "/v1//models"),
        ("GET", "//v1/models"),
        ("GET", "/v1/./models"),
        ("GET", "/v1/x/../models"),
        ("GET", "/v1/models/.."),
        ("GET", "/v1/%6dodels"),
        ("GET", "/v1%2fmodels"),
        ("GET", "/v1%2e%2e/models"),
        ("GET", "/v1\\models"),
        ("GET", "/v1/models#x"),
        ("GET", "/v1/models;x"),
        ("GET", "/v1/models\x00"),
        ("GET", "/v1/models\n"),
        ("GET", "/V1/models"),
        ("GET", "x/v1/models"),
        ("GET", "../v1/models"),
    ],
)
def test_what_is_not_listed_is_refused(world: World, method: str, path: str) -> None:
    """llama.cpp's other routes, and every spelling that a later reader might normalise."""
    key = world.key()

    assert reason_of(decide(world, question_for(key, path, method))) is Reason.PATH_NOT_ALLOWED


def test_the_query_does_not_matter(world: World) -> None:
    """It goes to the model server, which knows what to do with it."""
    key = world.key()

    assert isinstance(decide(world, question_for(key, f"{CHAT}?a=/../b&c=%2f?d#e")), Allowed)


def test_the_order_of_checks_is_the_order_of_the_table(world: World) -> None:
    """A request that breaks every rule is told of the first one; each repair reveals the next."""
    key = world.key(not_after=NOW + timedelta(hours=1))
    wrong = replace(key, token=Token(key.token.key_id, "C" * 43))
    bad = {
        "uri": f"/llm/{slug_of('x')}/slots",
        "host": "evil",
        "extra": [(b"x_forwarded_uri", b"")],
    }
    late, later = Moment(NOW.timestamp() + 3600, UPTIME), Moment(NOW.timestamp(), UPTIME + 61)

    def ask(who: str, now: Moment, **changes: object) -> Reason:
        return reason_of(decide(world, question(who, **(bad | changes)), now))  # type: ignore[arg-type]

    right, forged = (f"Bearer {k.token.reveal()}" for k in (key, wrong))
    own = f"/llm/{key.slug}/slots"
    assert ask(forged, later) is Reason.INDEX_NOT_FRESH
    assert ask(forged, late) is Reason.INVALID_KEY
    assert ask(right, late) is Reason.EXPIRED_KEY
    assert ask(right, FRESH, method="") is Reason.FACTS_MISSING
    assert ask(right, FRESH) is Reason.WRONG_INSTANCE
    assert ask(right, FRESH, uri=own) is Reason.ALIASED_HEADER
    assert ask(right, FRESH, uri=own, extra=[]) is Reason.WRONG_HOST
    assert ask(right, FRESH, uri=own, extra=[], host=PUBLIC_HOST) is Reason.PATH_NOT_ALLOWED


WORLD = World()
KEY = WORLD.key()


@given(st.data())
def test_no_other_token_opens(data: st.DataObject) -> None:
    """One changed character anywhere makes another token."""
    text = KEY.token.reveal()
    position = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.characters(min_codepoint=33, max_codepoint=126))
    changed = _with(text, position, character)

    decision = decide(WORLD, question(f"Bearer {changed}", f"/llm/{KEY.slug}{CHAT}"))

    assert isinstance(decision, Allowed) is (changed == text)
