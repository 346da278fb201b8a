"""The stream of requests that runs through every fault, and what it saw.

Each kind of key has senders of its own that ask again and again: live keys in turn, the dead ones in turn,
those that ended a moment ago in turn, and one customer who talks to the model. A live key that is not
answered with 200 was refused wrongly, whatever the reason. One that has ended may be let in for as long as
the design says; what a request says of it counts from the moment in which the request was sent.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

import httpx

from chaos_customers import Customers, Key
from customer import question
from eventually import eventually

PAUSE_SECONDS = 0.05
"""Between two requests of one sender."""

LIVE_SENDERS = 3
"""One request that hangs does not keep everybody from asking."""

YOUNGEST = 3
"""Of the keys that have ended, those that are asked about most."""

TALK_PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
"""How long a customer waits for an answer; slow is not refused."""

CALM_SECONDS = 2.0
"""Without a refusal for so long the edge counts as recovered."""

OK = str(int(httpx.codes.OK))


@dataclass(frozen=True, slots=True)
class Result:
    """One request.

    Attributes:
        key: The key that was shown.
        began: Monotonic time of its start.
        ended: The same of its end.
        verdict: The status, or what went wrong instead.
    """

    key: Key
    began: float
    ended: float
    verdict: str

    @property
    def is_refusal(self) -> bool:
        """A live key did not get what it opens."""
        return self.key.is_live and self.verdict != OK

    @property
    def outlived(self) -> float:
        """Seconds from a key's end until this request let it in; 0 when it did not."""
        is_let_in = self.verdict == OK and math.isfinite(self.key.ended_at)
        return max(0.0, self.began - self.key.ended_at) if is_let_in else 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a stream saw of a fault.

    Attributes:
        requests: Requests with live keys.
        refused: Those that were refused, by verdict.
        dark_seconds: From the fault's end to the end of the last refusal; 0 when there was none.
        dead_requests: Requests with dead keys.
        wrong_allows: Those of them that were let in too late, by the key's name.
        ended: Keys that ended meanwhile and were asked about.
        outlived: Seconds after its end until which one of them was let in; 0 when none was.
    """

    requests: int
    refused: dict[str, int]
    dark_seconds: float
    dead_requests: int
    wrong_allows: dict[str, int]
    ended: int
    outlived: float


def seen(
    results: Iterable[Result], since: float, over: float, deadline: Callable[[Key], float]
) -> Seen:
    """Sum up every request that ended after the fault's beginning.

    Args:
        results: All requests.
        since: When the fault began, by the monotonic clock.
        over: When what was broken was whole again.
        deadline: Until when a key that has ended may be let in, by the same clock.
    """
    counted = [result for result in results if result.ended >= since]
    live = [result for result in counted if result.key.is_live]
    refusals = [result for result in live if result.is_refusal]
    dead = [result for result in counted if not result.key.is_live]
    wrong = [r for r in dead if r.verdict == OK and r.began > deadline(r.key)]
    return Seen(
        requests=len(live),
        refused=dict(Counter(result.verdict for result in refusals)),
        dark_seconds=max((0.0, *(result.ended - over for result in refusals))),
        dead_requests=len(dead),
        wrong_allows=dict(Counter(result.key.name for result in wrong)),
        ended=len({result.key for result in dead if result.key.ended_at >= since}),
        outlived=max((0.0, *(result.outlived for result in dead))),
    )


@dataclass(slots=True)
class Stream:
    """Requests that go on until the block ends."""

    customers: Customers
    http: httpx.AsyncClient
    results: list[Result] = field(default_factory=list)
    _refused_at: float = -math.inf

    async def until_calm(self, within: float) -> None:
        """Wait until every kind of request was answered rightly for a while."""
        began = time.monotonic()
        wanted = {key.name for key in (*self.customers.live, self.customers.talking)}

        async def calm() -> bool:
            since = max(began, self._refused_at)
            is_long_enough = time.monotonic() - since >= CALM_SECONDS
            return is_long_enough and self._asked_since(since) >= wanted

        await eventually(calm, within=within, what="an edge that answers every customer")

    def _asked_since(self, moment: float) -> set[str]:
        """Return the names of the keys with which somebody has asked since then and has an answer."""
        fresh = takewhile(lambda result: result.ended >= moment, reversed(self.results))
        return {result.key.name for result in fresh if result.began >= moment}

    async def look(self, keys: Callable[[], Iterable[Key]]) -> None:
        """Ask with these keys in turn, for ever."""
        while True:
            for key in keys():
                await self._ask(key, "GET", key.models)
                await asyncio.sleep(PAUSE_SECONDS)
            # There may be no keys, and then nobody has let anybody else run.
            await asyncio.sleep(PAUSE_SECONDS)

    async def talk(self) -> None:
        """Have the model write, for ever."""
        key = self.customers.talking
        while True:
            await self._ask(key, "POST", f"{key.url}/v1/chat/completions", question())
            await asyncio.sleep(TALK_PAUSE_SECONDS)

    async def _ask(self, key: Key, method: str, url: str, body: object = None) -> None:
        began = time.monotonic()
        try:
            answer = await self.http.request(method, url, headers=key.headers, json=body)
            verdict = str(answer.status_code)
        except httpx.HTTPError as error:
            verdict = type(error).__name__
        result = Result(key, began, time.monotonic(), verdict)
        self.results.append(result)
        if result.is_refusal:
            self._refused_at = result.ended


@asynccontextmanager
async def streaming(customers: Customers) -> AsyncIterator[Stream]:
    """Send requests of every kind until the block ends."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
        stream = Stream(customers, http)
        senders = [
            asyncio.create_task(stream.talk()),
            asyncio.create_task(stream.look(lambda: (*customers.dead, *customers.ended))),
            asyncio.create_task(stream.look(lambda: tuple(customers.ended)[-YOUNGEST:])),
            *(
                asyncio.create_task(stream.look(partial(_share, customers.live, number)))
                for number in range(LIVE_SENDERS)
            ),
        ]
        try:
            yield stream
        finally:
            broken = [sender for sender in senders if sender.done()]
            for sender in senders:
                sender.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
            for sender in broken:
                sender.result()


def _share(keys: tuple[Key, ...], number: int) -> tuple[Key, ...]:
    """Return what one of the senders asks with."""
    return keys[number::LIVE_SENDERS]
