"""What the real Traefik writes about a request whose client put its key in the wrong place."""

import json
import secrets
from typing import Any

import pytest

import embedded
from edge_route import Route
from eventually import eventually

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
