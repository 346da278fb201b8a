"""Limits at the edge: by key behind the check, by address in front of it."""

import asyncio
import time

import pytest

from customer import ask_for_key
from edge_route import Route, own_chain, recorded_route
from edge_wire import Answer, Connection, request
from eventually import eventually
from privatellm.kube import KubeClient
from privatellm.tokens import SECRET_LENGTH, Token

pytestmark = pytest.mark.integration

AT_ONCE = 20
FORGOTTEN_SECONDS = 2.5
BAD_KEY = "Authorization: Bearer pllm_aaaaaaaaaaaa_wrong"


async def _at_once(route: Route, line: str) -> list[Answer]:
    """Send more requests at the same time than any limit of these tests lets through."""
    return await asyncio.gather(*(route.say_unsigned(line) for _ in range(AT_ONCE)))


def _count(answers: list[Answer], status: int) -> int:
    return [answer.status for answer in answers].count(status)


async def test_a_key_that_used_up_its_rate_is_told_when_to_come_back(
    client: KubeClient, namespace: str
) -> None:
    """429 with Retry-After; another key of the same instance is not touched."""
    async with (
        own_chain(client, requests_per_minute=5) as chain,
        recorded_route(client, namespace, "rated", chain=chain) as route,
    ):
        other = await ask_for_key(client, namespace, "other", "rated")
        answers = await _at_once(route, route.key_line)
        others = await route.say_unsigned(f"Authorization: Bearer {other.api_key}")

    over = [answer for answer in answers if answer.status == 429]
    assert len(over) >= AT_ONCE - 2
    assert all(1 <= int(answer.values("Retry-After")[0]) <= 12 for answer in over)
    assert others.status == 200


async def test_a_quiet_moment_gives_no_more_than_its_time_is_worth(
    client: KubeClient, namespace: str
) -> None:
    """Traefik forgets who was quiet for two seconds; a larger burst would come back with every pause."""
    per_second = 2
    async with (
        own_chain(client, requests_per_minute=60 * per_second) as chain,
        recorded_route(client, namespace, "pausing", chain=chain) as route,
    ):
        await _at_once(route, route.key_line)
        began, served = time.monotonic(), 0
        for _ in range(3):
            await _quiet(FORGOTTEN_SECONDS)
            served += _count(await _at_once(route, route.key_line), 200)
        took = time.monotonic() - began

    # Beside what came back, a second's worth from before, and one request that Traefik let wait.
    assert 0 < served <= per_second * (took + 1) + 1


async def _quiet(seconds: float) -> None:
    """Let time pass in which nobody asks."""
    until = time.monotonic() + seconds

    async def passed() -> bool:
        return time.monotonic() > until

    await eventually(passed, within=2 * seconds + 20, what="a quiet moment")


async def test_denials_use_up_nobodys_quota(client: KubeClient, namespace: str) -> None:
    """A flood of bad keys, of a right key id with a wrong secret, and of refused paths."""
    async with (
        own_chain(client, requests_per_minute=5) as chain,
        recorded_route(client, namespace, "flooded", chain=chain) as route,
    ):
        victim = await ask_for_key(client, namespace, "victim", "flooded")
        key_id, line = victim.api_key.split("_")[1], f"Authorization: Bearer {victim.api_key}"
        # Well-formed, so that it comes as far as the comparison of secrets.
        near_miss = f"Authorization: Bearer {Token(key_id, 'A' * SECRET_LENGTH).reveal()}"
        await _at_once(route, BAD_KEY)
        await _at_once(route, near_miss)
        for _ in range(AT_ONCE):
            await route.say_unsigned(BAD_KEY, f"X-Private-Llm-Key-Id: {key_id}")
            await route.say_unsigned(line, target=f"{route.path}/props")
        # One request is all that this key has.
        answer = await route.say_unsigned(line)

    assert answer.status == 200


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
        own_chain(client, address_requests_per_second=2) as chain,
        recorded_route(client, namespace, "guarded", chain=chain) as route,
    ):
        await _quiet(FORGOTTEN_SECONDS)
        bad, good = await asyncio.gather(_at_once(route, BAD_KEY), _at_once(route, route.key_line))

    assert {answer.status for answer in bad} <= {401, 429}
    assert _count(bad, 401) + _count(good, 200) > 0
    assert _count(bad, 429) > AT_ONCE // 2
    assert _count(good, 429) > AT_ONCE // 2, "it counts addresses, whatever key they bring"
    over = [answer.values("Retry-After") for answer in (*bad, *good) if answer.status == 429]
    assert over == [["1"]] * len(over)


async def test_a_guard_of_zero_lets_everybody_ask(client: KubeClient, namespace: str) -> None:
    """For edges that see one address for all clients."""
    async with (
        own_chain(client, address_requests_per_second=0) as chain,
        recorded_route(client, namespace, "unguarded", chain=chain) as route,
    ):
        answers = [*await _at_once(route, BAD_KEY), *await _at_once(route, BAD_KEY)]

    assert {answer.status for answer in answers} == {401}
