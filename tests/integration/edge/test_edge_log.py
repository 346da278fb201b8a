"""What is written about a request: by the check, and by the real Traefik in front of it."""

import json
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest

import embedded
from edge_route import Route
from eventually import eventually
from privatellm.tokens import SECRET_LENGTH, Token

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


def lines_about(environment: embedded.Environment, namespace: str) -> list[dict[str, Any]]:
    """Return the access log's lines about the routes of a namespace."""
    log = (environment.state / "log" / "traefik.log").read_text(encoding="utf-8")
    entries = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
    return [entry for entry in entries if namespace in entry.get("RouterName", "")]


@pytest.mark.parametrize(
    "form", ["/{key}", "/v1/models/{key}", "/v1/models?api_key={key}", "//{key}"]
)
async def test_a_key_in_the_address_is_in_no_log(
    environment: embedded.Environment, edge_namespace: str, route: Route, form: str
) -> None:
    """Neither of a request that passes nor of one that is refused; who was asked and what came is there."""
    key = f"pllm_{secrets.token_hex(6)}_{secrets.token_hex(24)}"
    before = len(lines_about(environment, edge_namespace))

    answer = await route.say(target=route.path + form.format(key=key))

    async def written() -> bool:
        return len(lines_about(environment, edge_namespace)) > before

    await eventually(written, what="the access log's line")
    entry = lines_about(environment, edge_namespace)[-1]
    assert entry["DownstreamStatus"] == answer.status
    assert answer.status != 200 or edge_namespace in entry["ServiceName"]
    assert {"ClientHost", "Duration", "RequestMethod"} <= entry.keys()
    assert {"RequestPath", "RequestLine"}.isdisjoint(entry)
    for log in (environment.state / "log").iterdir():
        assert key.encode() not in log.read_bytes(), log.name


async def audit_lines(environment: embedded.Environment, key_id: str) -> list[dict[str, Any]]:
    """Return the audit lines about a key, as whoever runs the platform reads them."""
    log = await embedded.kubectl(
        environment,
        "logs",
        "--namespace=private-llm-system",
        "--selector=app.kubernetes.io/name=private-llm-authserver",
        "--tail=-1",
    )
    entries = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
    return [entry for entry in entries if entry.get("key_id") == key_id]


ALLOWED = {"event": "request allowed", "level": "info"}
DENIED = {"event": "request denied", "level": "warning"}


@pytest.mark.parametrize(
    ("secret_is_right", "path", "verdict"),
    [
        (True, "/v1/models", ALLOWED),
        (True, "/slots", DENIED | {"reason": "path_not_allowed"}),
        (False, "/v1/models", DENIED | {"reason": "invalid_api_key"}),
    ],
)
async def test_a_decision_is_in_the_audit_log(
    environment: embedded.Environment,
    route: Route,
    secret_is_right: bool,
    path: str,
    verdict: dict[str, str],
) -> None:
    """When, which key, which instance, method, path and why; neither query nor secret."""
    wrong = Token(route.key_id, "A" * SECRET_LENGTH).reveal()
    line = route.key_line if secret_is_right else f"Authorization: Bearer {wrong}"
    asked = datetime.now(UTC)
    about = {"key_id": route.key_id, "instance": route.slug, "method": "GET", "path": path}

    async def noted() -> dict[str, Any] | None:
        # Once more each time: lines of one kind are limited, and other tests ask a lot.
        await route.say_unsigned(line, target=f"{route.path}{path}?user=jane")
        for entry in await audit_lines(environment, route.key_id):
            since = datetime.fromisoformat(entry["timestamp"]) >= asked
            if since and (about | verdict).items() <= entry.items():
                return entry
        return None

    entry = await eventually(noted, what="the audit line")
    assert entry is not None
    further = entry.keys() - (about | verdict).keys()
    assert further <= {"timestamp", "suppressed", "worker", "namespace"}
