"""The stream of requests that runs through every fault, and what it saw.

Each kind of key has a sender of its own that asks again and again: live keys in turn, the dead ones in
turn, and one customer who talks to the model. A live key that is not answered with 200 was refused wrongly,
whatever the reason; a dead one that is answered with 200 was let in wrongly, and there is no excuse.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from chaos_customers import Customers, Key
from customer import question
from eventually import eventually

PAUSE_SECONDS = 0.1
"""Between two requests of one sender: three keys in turn stay below the edge's ten a second."""

TALK_PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
"""How long a customer waits for an answer; slow is not refused."""

CALM_SECONDS = 3.0
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
    def is_wrong_allow(self) -> bool:
        """A dead key was let in."""
        return not self.key.is_live and self.verdict == OK


@dataclass(frozen=True, slots=True)
class Seen:
    """What a stream saw of a fault.

    Attributes:
        requests: Requests with live keys.
        refused: Those that were refused, by verdict.
        dark_seconds: From the fault's end to the end of the last refusal; 0 when there was none.
        dead_requests: Requests with dead keys.
        wrong_allows: Those of them that were let in, by the key's name.
    """

    requests: int
    refused: dict[str, int]
    dark_seconds: float
    dead_requests: int
    wrong_allows: dict[str, int]


def seen(results: Iterable[Result], since: float, over: float) -> Seen:
    """Sum up every request that ended after the fault's beginning.

    Args:
        results: All requests.
        since: When the fault began, by the monotonic clock.
        over: When what was broken was whole again.
    """
    counted = [result for result in results if result.ended >= since]
    live = [result for result in counted if result.key.is_live]
    refusals = [result for result in live if result.is_refusal]
    dead = [result for result in counted if not result.key.is_live]
    return Seen(
        requests=len(live),
        refused=dict(Counter(result.verdict for result in refusals)),
        dark_seconds=max((0.0, *(result.ended - over for result in refusals))),
        dead_requests=len(dead),
        wrong_allows=dict(Counter(result.key.name for result in dead if result.is_wrong_allow)),
    )


@dataclass(slots=True)
class Stream:
    """Requests that go on until the block ends."""

    customers: Customers
    http: httpx.AsyncClient
    results: list[Result] = field(default_factory=list)

    async def until_calm(self, within: float) -> None:
        """Wait until every kind of request was answered rightly for a while."""
        since = time.monotonic()

        async def calm() -> bool:
            nonlocal since
            now = time.monotonic()
            if refusals := [r.ended for r in self.results if r.is_refusal]:
                since = max(since, refusals[-1])
            fresh = [r for r in self.results if r.began >= since]
            kinds = {r.key.name for r in fresh if r.key.is_live}
            wanted = {key.name for key in (*self.customers.live, self.customers.talking)}
            return now - since >= CALM_SECONDS and kinds >= wanted

        await eventually(calm, within=within, what="an edge that answers every customer")

    async def look(self, keys: Callable[[], Iterable[Key]]) -> None:
        """Ask with these keys in turn, for ever."""
        while True:
            for key in keys():
                await self._ask(key, "GET", key.models)
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
        self.results.append(Result(key, began, time.monotonic(), verdict))


@asynccontextmanager
async def streaming(customers: Customers) -> AsyncIterator[Stream]:
    """Send requests of every kind until the block ends."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
        stream = Stream(customers, http)
        senders = [
            asyncio.create_task(stream.look(lambda: customers.live)),
            asyncio.create_task(stream.look(lambda: (*customers.dead, *customers.ended))),
            asyncio.create_task(stream.talk()),
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
