"""The life of keys as the edge sees it: when they were used, and how all of them are replaced at once."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

import embedded
from customer import Credentials, ask_for_key, order, read_credentials, until_routed
from eventually import eventually
from privatellm.api.meta import parse_time
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration

INTERVAL_SECONDS = 10.0
"""How often the embedded environment's operator asks."""

POLLED_SECONDS = 4 * INTERVAL_SECONDS
"""Within which a use is shown, on a busy machine."""


async def _use(http: httpx.AsyncClient, credentials: Credentials) -> int:
    url = f"{credentials.base_url}/models"
    return (await http.get(url, headers=credentials.headers)).status_code


async def _request(client: KubeClient, namespace: str, name: str) -> dict[str, Any]:
    found = await client.get(kinds.API_TOKEN_REQUEST, name, namespace)
    assert found is not None
    return found


async def test_a_used_key_shows_when_and_an_unused_one_is_left_alone(
    client: KubeClient, namespace: str
) -> None:
    """The status tells within the operator's interval; what nobody uses is never written."""
    await order(client, namespace, "watched", phase="Stopped", replicas=0)
    used, _unused = await asyncio.gather(
        ask_for_key(client, namespace, "used", "watched"),
        ask_for_key(client, namespace, "unused", "watched"),
    )
    before = await _request(client, namespace, "unused")
    async with httpx.AsyncClient() as http:
        await until_routed(http, used)
        assert await _use(http, used) == 503

    async def shown() -> datetime | None:
        status = (await _request(client, namespace, "used"))["status"]
        return parse_time(status.get("lastUsedAt"))

    seen = await eventually(shown, within=POLLED_SECONDS, what="lastUsedAt")
    written = await _request(client, namespace, "used")
    issued = parse_time(written["status"]["issuedAt"])
    assert issued is not None
    assert seen is not None
    assert issued <= seen <= datetime.now(UTC) + timedelta(seconds=1)
    assert written["status"]["phase"] == "Ready"
    after = await _request(client, namespace, "unused")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert "lastUsedAt" not in after["status"]


async def test_a_busy_key_is_written_once_an_interval_however_often_it_is_used(
    client: KubeClient, namespace: str
) -> None:
    """Seen by a watch, as whoever follows the request sees it."""
    await order(client, namespace, "busy", phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, "busy", "busy")
    uses = 0

    async def use() -> None:
        nonlocal uses
        async with httpx.AsyncClient() as http:
            await until_routed(http, credentials)
            while True:
                # The check let it in, and behind it either no server runs or the rate is used up.
                assert await _use(http, credentials) in {503, 429}
                uses += 1

    async def shown() -> bool:
        return "lastUsedAt" in (await _request(client, namespace, "busy"))["status"]

    started, using = time.monotonic(), asyncio.create_task(use())
    written = await _changes(client, namespace, round(INTERVAL_SECONDS))
    polls = (time.monotonic() - started) // INTERVAL_SECONDS + 1
    await eventually(shown, within=POLLED_SECONDS, what="lastUsedAt")
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using

    assert written <= polls
    assert uses > 10 * polls


async def _changes(client: KubeClient, namespace: str, seconds: int) -> int:
    """Return how often the requests of a namespace change within so many seconds."""
    listing = await client.list(kinds.API_TOKEN_REQUEST, namespace)
    watch = client.watch(
        kinds.API_TOKEN_REQUEST,
        namespace,
        resource_version=listing.resource_version,
        timeout_seconds=seconds,
    )
    return len([event async for event in watch if event.type == "MODIFIED"])


async def test_after_a_take_over_of_the_edge_every_key_is_replaced_by_one_command(
    environment: embedded.Environment, client: KubeClient, namespace: str
) -> None:
    """``privatellm token rotate --all``: old keys are dead, new ones are in the same Secrets and work."""
    await asyncio.gather(
        *(order(client, namespace, name, phase="Stopped", replicas=0) for name in ("one", "two"))
    )
    names = {"a": "one", "b": "one", "c": "two"}
    old = await asyncio.gather(
        *(ask_for_key(client, namespace, name, instance) for name, instance in names.items())
    )
    async with httpx.AsyncClient() as http:
        for credentials in old:
            await until_routed(http, credentials)
            assert await _use(http, credentials) == 503

        outcome = await asyncio.to_thread(
            embedded.privatellm,
            *("token", "rotate", "--all", "--yes"),
            environment={"KUBECONFIG": str(environment.kubeconfig)},
        )

        assert outcome.code == 0, outcome.stderr
        new = [await read_credentials(client, namespace, f"{name}-token") for name in names]
        for before, now in zip(old, new, strict=True):
            assert now.api_key != before.api_key
            assert now.base_url == before.base_url

        async def replaced() -> bool:
            dead = [await _use(http, credentials) for credentials in old]
            alive = [await _use(http, credentials) for credentials in new]
            return (dead, alive) == ([401] * 3, [503] * 3)

        await eventually(replaced, within=10, what="dead old keys and working new ones")
    printed = outcome.stdout + outcome.stderr
    assert not any(c.api_key in printed for c in (*old, *new))
