"""The audit log says who and why, never a secret, and never too much."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from auth_world import CHAT, NOW, UPTIME, Headers, Key, World, question, question_for
from privatellm.tokens import Token
from privatellm_authserver.audit import BURST_LINES, AuditLog, RateLimit
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Denied, Reason, verify
from privatellm_authserver.index import Allowed

MOMENT = Moment(NOW.timestamp(), UPTIME)


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as captured:
        yield captured


@pytest.fixture
def world() -> World:
    return World()


def note(audit: AuditLog, world: World, headers: Headers, now: Moment = MOMENT) -> None:
    facts = world.reader.read(headers)
    decision = verify(facts, world.index, MOMENT)
    if isinstance(decision, Allowed):
        audit.allowed(decision, facts, now, 1)
    else:
        audit.denied(decision.reason, facts, now)


def test_an_allowed_request_is_noted_with_key_instance_and_path(
    world: World, lines: list[Any]
) -> None:
    """The query is left out: it may hold what the customer would not want in a log."""
    key = world.key()

    note(AuditLog(), world, question_for(key, f"{CHAT}?user=jane"))

    assert lines == [
        {
            "event": "request allowed",
            "log_level": "info",
            "key_id": key.token.key_id,
            "instance": key.slug,
            "namespace": "acme",
            "method": "POST",
            "path": CHAT,
            "suppressed": 0,
        }
    ]


def test_a_denied_request_is_noted_with_its_reason(world: World, lines: list[Any]) -> None:
    """What the client claims is shown as far as it is harmless."""
    key = world.key()

    note(AuditLog(), world, question_for(key, "/slots?x=y", "GET"))

    assert lines == [
        {
            "event": "request denied",
            "log_level": "warning",
            "reason": "path_not_allowed",
            "key_id": key.token.key_id,
            "instance": key.slug,
            "method": "GET",
            "path": "/slots",
            "suppressed": 0,
        }
    ]


def _secrets_of(key: Key, world: World) -> list[str]:
    entry = world.index.find(key.key_id)
    stored = key.secret["data"]["hash"]
    backend = entry.instance.authorization.decode().removeprefix("Bearer ")
    return [key.token.secret, key.token.reveal(), stored, entry.digest.hex(), backend]


@pytest.mark.parametrize(
    "place", ["header", "query", "path", "segment", "slug", "method", "twice", "basic", "raw"]
)
def test_no_secret_is_ever_logged(world: World, lines: list[Any], place: str) -> None:
    """Wherever a client puts its key, neither token nor hash nor backend key is written."""
    key = world.key()
    token, uri = key.token.reveal(), f"/llm/{key.slug}{CHAT}"
    headers = {
        "header": question_for(key),
        "query": question(None, f"{uri}?key={token}"),
        "path": question(f"Bearer {token}", f"/llm/{key.slug}/{token}"),
        "segment": question(f"Bearer {token}", f"/{key.token.secret}/x"),
        "slug": question(f"Bearer {token}", f"/llm/{key.token.secret}/v1/models"),
        "method": question(f"Bearer {token}", uri, method=token),
        "twice": question_for(key, extra=[(b"authorization", token.encode())]),
        "basic": question(f"Basic {token}", uri),
        "raw": question(token, uri),
    }[place]

    note(AuditLog(), world, headers)

    (line,) = lines
    assert not [secret for secret in _secrets_of(key, world) if secret in str(line)]
    # Nor does a half of it stand in two fields.
    assert key.token.secret[:16] not in str(line)
    assert key.token.secret[16:] not in str(line)


def test_a_key_id_of_the_wrong_form_is_not_logged(world: World, lines: list[Any]) -> None:
    """It is the client's text, and a log is no place for it."""
    evil = Token("\n<script>()\n", "A" * 43)

    note(AuditLog(), world, question(f"Bearer {evil.reveal()}", "/llm/x"))

    assert lines[0]["key_id"] == ""
    assert lines[0]["reason"] == "invalid_api_key"


def test_a_flood_of_denials_is_cut_off_and_counted(world: World, lines: list[Any]) -> None:
    """The first ones are shown; the next line after the flood says how many were not."""
    audit, headers = AuditLog(lines_per_second=10), question(None, "/llm/x")
    for _ in range(1000):
        note(audit, world, headers)
    flood = len(lines)

    note(audit, world, headers, Moment(MOMENT.wall, UPTIME + 1))

    assert flood == BURST_LINES
    assert lines[-1]["suppressed"] == 1000 - BURST_LINES


def test_one_kind_of_noise_does_not_hide_another(world: World, lines: list[Any]) -> None:
    """Each reason has a limit of its own, and so have allowed requests."""
    key, audit = world.key(), AuditLog()
    for _ in range(1000):
        note(audit, world, question(None, "/llm/x"))
    lines.clear()

    note(audit, world, question_for(key, "/slots"))
    note(audit, world, question_for(key))

    assert [line["event"] for line in lines] == ["request denied", "request allowed"]


def test_a_rate_limit_admits_its_rate_in_the_long_run() -> None:
    """A burst, and then one per interval."""
    limit = RateLimit(per_second=10, burst=5)

    admitted = sum(limit.admits(UPTIME + step / 1000) for step in range(10_000))

    assert 5 + 99 <= admitted <= 5 + 101
    assert limit.take_suppressed() == 10_000 - admitted
    assert limit.take_suppressed() == 0


def test_every_reason_can_be_noted(world: World, lines: list[Any]) -> None:
    """A reason without a limit would be an error in the middle of a request."""
    facts = world.reader.read(question(None, "/"))
    for reason in Reason:
        AuditLog().denied(Denied(reason).reason, facts, MOMENT)

    assert [line["reason"] for line in lines] == [reason.value for reason in Reason]
