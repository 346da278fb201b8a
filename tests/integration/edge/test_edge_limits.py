"""Limits at the edge: by key behind the check, by address in front of it."""

import asyncio

import pytest

from customer import ask_for_key
from edge_route import Route, own_chain, recorded_route
from edge_wire import Connection, request
from eventually import eventually
from privatellm.kube import KubeClient
from privatellm.tokens import SECRET_LENGTH, Token

pytestmark = pytest.mark.integration

BAD_KEY = "Authorization: Bearer pllm_aaaaaaaaaaaa_wrong"


async def _statuses(route: Route, line: str, times: int) -> list[int]:
    return [(await route.say_unsigned(line)).status for _ in range(times)]


async def test_a_key_that_used_up_its_rate_is_told_when_to_come_back(
    client: KubeClient, namespace: str
) -> None:
    """429 with Retry-After; another key of the same instance is not touched."""
    async with (
        own_chain(client, requests_per_minute=5) as chain,
        recorded_route(client, namespace, "rated", chain=chain) as route,
    ):
        other = await ask_for_key(client, namespace, "other", "rated")
        statuses = await _statuses(route, route.key_line, 8)
        over = await route.say()
        others = await _statuses(route, f"Authorization: Bearer {other.api_key}", 3)

    assert statuses[-1] == 429
    assert statuses.count(200) <= 5
    assert over.status == 429
    (seconds,) = over.values("Retry-After")
    assert 1 <= int(seconds) <= 60
    assert others == [200, 200, 200]


async def test_denials_use_up_nobodys_quota(client: KubeClient, namespace: str) -> None:
    """A flood of bad keys, of the right key id with a wrong secret, and of refused paths."""
    async with (
        own_chain(client, requests_per_minute=6) as chain,
        recorded_route(client, namespace, "flooded", chain=chain) as route,
    ):
        # Well-formed, so that it comes as far as the comparison of secrets.
        near_miss = f"Authorization: Bearer {Token(route.key_id, 'A' * SECRET_LENGTH).reveal()}"
        await _statuses(route, BAD_KEY, 20)
        await _statuses(route, near_miss, 20)
        forged = [f"X-Private-Llm-Key-Id: {route.key_id}"]
        for _ in range(20):
            await route.say_unsigned(BAD_KEY, *forged)
            await route.say(target=f"{route.path}/props")
        statuses = await _statuses(route, route.key_line, 4)

    # One or two of the six were needed to see that the route is there.
    assert statuses == [200] * 4


async def test_a_forged_identity_gets_no_quota_of_its_own(
    client: KubeClient, namespace: str
) -> None:
    """The limit counts by what the check found, not by what the client says."""
    async with (
        own_chain(client, requests_per_minute=5) as chain,
        recorded_route(client, namespace, "forging", chain=chain) as route,
    ):
        answers = [await route.say(f"X-Private-Llm-Key-Id: forged-{n}") for n in range(8)]

    assert answers[-1].status == 429


async def test_requests_at_the_same_time_are_bounded_by_key(
    client: KubeClient, namespace: str
) -> None:
    """429 for the one too many, without Retry-After: nobody knows when one of the others ends."""
    async with (
        own_chain(client, concurrent_requests=2) as chain,
        recorded_route(client, namespace, "crowded", chain=chain) as route,
    ):
        other = await ask_for_key(client, namespace, "other", "crowded")
        route.recorder.open.clear()
        running = [asyncio.create_task(route.say()) for _ in range(2)]

        async def both_arrived() -> bool:
            return len(route.recorder.requests) == 2

        await eventually(both_arrived, what="two requests at the backend")
        over = await route.say()
        others = asyncio.create_task(route.say_unsigned(f"Authorization: Bearer {other.api_key}"))

        async def other_arrived() -> bool:
            return len(route.recorder.requests) == 3

        await eventually(other_arrived, what="the other key's request at the backend")
        route.recorder.open.set()
        finished = await asyncio.gather(*running, others)
        again = await route.say()

    assert over.status == 429
    assert over.values("Retry-After") == []
    assert [answer.status for answer in finished] == [200, 200, 200]
    assert again.status == 200


async def test_a_client_that_hangs_up_gives_its_place_back(
    client: KubeClient, namespace: str
) -> None:
    """At once, though the backend still works on its request: no place may be lost for ever."""
    async with (
        own_chain(client, concurrent_requests=1) as chain,
        recorded_route(client, namespace, "left", chain=chain) as route,
    ):
        held = route.recorder.open
        held.clear()
        gone = await Connection.open(route.host, route.port)
        await gone.send(request("GET", f"{route.path}/v1/models", route.host_line, route.key_line))

        async def arrived() -> bool:
            return len(route.recorder.requests) == 1

        await eventually(arrived, what="the request at the backend")
        meanwhile = await route.say()
        # Who comes next is answered; the request of the client that is gone is not.
        route.recorder.open = asyncio.Event()
        route.recorder.open.set()
        gone.close()

        async def served() -> bool:
            return (await route.say()).status == 200

        await eventually(served, what="the place of the client that is gone")
        held.set()

    assert meanwhile.status == 429


async def test_one_address_cannot_keep_the_check_busy(client: KubeClient, namespace: str) -> None:
    """Past its burst it gets 429 with Retry-After in place of 401, before any key is looked at."""
    async with (
        own_chain(client, address_requests_per_second=1) as chain,
        recorded_route(client, namespace, "guarded", chain=chain) as route,
    ):
        answers = [await route.say_unsigned(BAD_KEY) for _ in range(20)]
        good = await route.say()

    statuses = [answer.status for answer in answers]
    assert set(statuses) == {401, 429}
    assert statuses[-1] == 429
    assert answers[-1].values("Retry-After") == ["1"]
    assert good.status == 429, "the guard counts addresses, whatever key they bring"


async def test_a_guard_of_zero_lets_everybody_ask(client: KubeClient, namespace: str) -> None:
    """For edges that see one address for all clients."""
    async with (
        own_chain(client, address_requests_per_second=0) as chain,
        recorded_route(client, namespace, "unguarded", chain=chain) as route,
    ):
        statuses = await _statuses(route, BAD_KEY, 60)

    assert set(statuses) == {401}
