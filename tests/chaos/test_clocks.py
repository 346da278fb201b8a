"""The wall clocks of operator and ForwardAuth service are set ahead and back while everybody works.

The API server's clock stays right, as in a cluster in which one node's is wrong. Keys that have an end are
ordered before, because their life is what a wrong clock could cut short or prolong.
"""

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest

from chaos_customers import Key
from chaos_fault import BY_EVENT, Fault, Stage
from chaos_parts import Parts
from chaos_wiring import Clock, stepped_clock
from eventually import eventually
from privatellm.kube import kinds
from privatellm.verifiers import Verifier
from privatellm_local.platform.facts import TOKEN_NAMESPACE

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

STEP_SECONDS = 2 * 3600
SHORTER = "1h"
"""The life of a key that is over by a clock that is ahead and not by the right one."""

MEANWHILE = "20s"
"""The life of a key that is over by the right clock and not by one that is behind."""

WATCHED_SECONDS = 12.0
"""Longer than the Lease's renewals, the sweep's neighbours and a report of last uses take to come by."""

PAUSE_SECONDS = 0.2
"""Between two requests, which stay below the edge's ten a second and a key."""


@pytest.fixture(scope="module")
def wrong_clock(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clock]:
    """The wall clock of both, for all tests."""
    with stepped_clock(parts, tmp_path_factory.mktemp("clock")) as found:
        yield found


@pytest.fixture
def clock(wrong_clock: Clock) -> Iterator[Clock]:
    """The wall clock of both, which is right afterwards."""
    yield wrong_clock
    wrong_clock.set_ahead(0)


async def test_clocks_that_are_set_ahead_end_no_key(stage: Stage, clock: Clock) -> None:
    """Lives are counted by the API server's clock, which wrote when they began."""
    async with stage.fault("clocks of operator and check: 2 h ahead, then right") as fault:
        key = await _step(stage, fault, clock, STEP_SECONDS)
        await _watch(fault, key)
        _set_right(fault, clock)
    assert fault.seen().refused == {}


async def test_clocks_that_are_set_back_open_no_door(stage: Stage, clock: Clock) -> None:
    """A key that ends meanwhile has ended. Nor do they close one: no key comes from the future."""
    async with stage.fault("clocks of operator and check: 2 h back, then right") as fault:
        ending = await stage.order_key(fault, MEANWHILE, expiresAfter=MEANWHILE)
        key = await _step(stage, fault, clock, -STEP_SECONDS)
        await asyncio.gather(_watch(fault, key), _until_expired(stage, fault, ending))
        _set_right(fault, clock)
    assert fault.seen().refused == {}


async def _step(stage: Stage, fault: Fault, clock: Clock, seconds: float) -> Key:
    """Step the clocks and return a key that has an end by both of them."""
    key = await stage.order_key(fault, SHORTER, expiresAfter=SHORTER)
    fault.begins()
    clock.set_ahead(seconds)
    return key


async def _watch(fault: Fault, key: Key) -> None:
    """Watch for a while what a key is answered; nobody may refuse it."""
    fault.figures |= {"answers to a key with an end (number)": 0, "refusals of it (number)": 0}
    async with httpx.AsyncClient(trust_env=False) as http:

        async def watched() -> bool:
            answer = await http.get(key.models, headers=key.headers)
            fault.figures["answers to a key with an end (number)"] += 1
            if answer.status_code != httpx.codes.OK:
                fault.figures["refusals of it (number)"] += 1
            await asyncio.sleep(PAUSE_SECONDS)
            return fault.age > WATCHED_SECONDS

        await eventually(watched, within=WATCHED_SECONDS + 60, what="the end of the watch")
    assert fault.figures["refusals of it (number)"] == 0


def _set_right(fault: Fault, clock: Clock) -> None:
    clock.set_ahead(0)
    fault.is_over()


async def _until_expired(stage: Stage, fault: Fault, key: Key) -> None:
    """Wait until a key is refused because it has expired, which the stream sees as well."""
    secret = await stage.client.get(kinds.SECRET, key.verifier, TOKEN_NAMESPACE)
    assert secret is not None, "the key has ended too early"
    end = Verifier.from_secret(secret).not_after
    assert end is not None
    left = end.timestamp() - time.time()
    ended = key.ended(time.monotonic() + left)
    stage.customers.ended.append(ended)
    async with httpx.AsyncClient(trust_env=False) as http:

        async def refused() -> bool:
            answer = await http.get(key.models, headers=key.headers)
            return (
                answer.status_code == httpx.codes.UNAUTHORIZED and "expired_api_key" in answer.text
            )

        await eventually(refused, within=left + BY_EVENT, what="the refusal of an expired key")
    fault.figures["an expired key refused after its end"] = time.monotonic() - ended.ended_at
