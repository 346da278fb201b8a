"""The wall clocks of operator and ForwardAuth service are set ahead and back while everybody works.

The API server's clock stays right, as in a cluster in which one node's is wrong. A key that has an end is
ordered before, because its life is what a wrong clock could cut short or prolong.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from chaos_customers import BUSY, Key, read_key
from chaos_fault import Fault, Stage
from chaos_parts import Parts
from chaos_wiring import Clock, stepped_clock
from customer import token_request, until_phase
from eventually import eventually
from privatellm.kube import kinds

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

STEP_SECONDS = 2 * 3600
SHORTER = "1h"
"""The life of a key that is over by the stepped clock and not by the right one."""

WATCHED_SECONDS = 12.0
"""Longer than the Lease's renewals, the sweep's neighbours and a report of last uses take to come by."""


@pytest.fixture
async def clock(parts: Parts, tmp_path: Path) -> AsyncIterator[Clock]:
    """The wall clock of both."""
    async with stepped_clock(parts, tmp_path) as found:
        yield found


async def test_clocks_that_are_set_ahead_end_no_key(stage: Stage, clock: Clock) -> None:
    """Lives are counted by the API server's clock, which wrote when they began."""
    async with stage.fault("clocks of operator and check: 2 h ahead, then right") as fault:
        await _stepped(stage, fault, clock, STEP_SECONDS)
    assert fault.seen().refused == {}


async def test_clocks_that_are_set_back_open_no_door(stage: Stage, clock: Clock) -> None:
    """Nor do they close one: keys that are younger than the step are no keys from the future."""
    async with stage.fault("clocks of operator and check: 2 h back, then right") as fault:
        await _stepped(stage, fault, clock, -STEP_SECONDS)
    assert fault.seen().refused == {}


async def _stepped(stage: Stage, fault: Fault, clock: Clock, seconds: float) -> None:
    """Step the clocks, watch for a while what a key with an end is answered, and set them right."""
    key = await _key_with_an_end(stage, f"{fault.churn.prefix}-{SHORTER}")
    fault.churn.adopt(key.name)
    fault.begins()
    clock.set_ahead(seconds)
    async with httpx.AsyncClient(trust_env=False) as http:

        async def watched() -> bool:
            answer = await http.get(key.models, headers=key.headers)
            fault.figures["answers to a key with an end (number)"] += 1
            if answer.status_code != httpx.codes.OK:
                fault.figures["refusals of it (number)"] += 1
            return fault.age > WATCHED_SECONDS

        fault.figures |= {"answers to a key with an end (number)": 0, "refusals of it (number)": 0}
        await eventually(watched, within=WATCHED_SECONDS + 60, what="the end of the watch")
    clock.set_ahead(0)
    fault.is_over()
    assert fault.figures["refusals of it (number)"] == 0


async def _key_with_an_end(stage: Stage, name: str) -> Key:
    namespace = stage.customers.namespace
    request = token_request(namespace, name, BUSY, expiresAfter=SHORTER)
    await stage.client.create(kinds.API_TOKEN_REQUEST, request)
    ready = await until_phase(stage.client, kinds.API_TOKEN_REQUEST, namespace, name, "Ready")
    return await read_key(stage.client, namespace, ready["status"]["secretName"], name)
