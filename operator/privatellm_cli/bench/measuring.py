"""Ask an instance many times, some at once, and take the time.

Every request has a prompt of its own and asks the server not to use its prompt cache, so that each one
pays for reading its prompt. Tokens are counted by the server; where it does not tell, pieces of the stream
count.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from privatellm_cli import endpoint
from privatellm_cli.bench.statistics import Run, Sample
from privatellm_cli.endpoint import Endpoint
from privatellm_cli.errors import EndpointError


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked.

    Attributes:
        model: Name of the model in the requests.
        prompt: What every prompt begins with; a number follows.
        max_tokens: Longest answer, in tokens.
        requests: Requests at each concurrency.
        seconds: After this time no further request of a concurrency is begun.
    """

    model: str
    prompt: str
    max_tokens: int
    requests: int
    seconds: float

    def body(self, number: int) -> dict[str, Any]:
        """Return one request."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": f"{self.prompt} ({number})"}],
            "max_tokens": self.max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            # A field of llama.cpp; other servers ignore it.
            "cache_prompt": False,
        }


class Bench:
    """One benchmark of one instance."""

    def __init__(self, client: httpx.AsyncClient, target: Endpoint, load: Load) -> None:
        self._client = client
        self._target = target
        self._load = load
        self._numbers = itertools.count(1)

    async def warm_up(self) -> None:
        """Ask once, so that the first measured request does not pay for opening connections.

        Raises:
            EndpointError: when the instance does not answer, so measuring makes no sense.
        """
        await self._ask()

    async def run(self, concurrency: int, note: Callable[[int], None]) -> Run:
        """Measure with so many requests at the same time.

        Args:
            concurrency: Requests at the same time.
            note: Told how many requests are done.
        """
        samples: list[Sample] = []
        failures: Counter[str] = Counter()
        tickets = iter(range(self._load.requests))
        began = time.perf_counter()

        async def ask_in_turn() -> None:
            for _ in self._in_time(tickets, began):
                try:
                    samples.append(await self._ask())
                except EndpointError as error:
                    failures[str(error)] += 1
                note(len(samples) + failures.total())

        await asyncio.gather(*(ask_in_turn() for _ in range(concurrency)))
        return Run(concurrency, time.perf_counter() - began, tuple(samples), failures)

    def _in_time(self, tickets: Iterator[int], began: float) -> Iterator[int]:
        """Yield what is left to do, which all of the concurrent askers share, while there is time."""
        for ticket in tickets:
            if time.perf_counter() - began > self._load.seconds:
                return
            yield ticket

    async def _ask(self) -> Sample:
        began = time.perf_counter()
        first: float | None = None
        pieces, counted = 0, 0
        with endpoint.translated(self._target.url):
            async with self._client.stream(
                "POST",
                self._target.url,
                json=self._load.body(next(self._numbers)),
                headers=self._target.headers,
            ) as response:
                if not response.is_success:
                    raise endpoint.refusal(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    event = endpoint.event_of(line)
                    if event is None:
                        continue
                    if endpoint.text_of(event):
                        first = first if first is not None else time.perf_counter() - began
                        pieces += 1
                    counted = _counted(event) or counted
        total = time.perf_counter() - began
        if first is None:
            raise EndpointError("The model answered with nothing: choose another --prompt.")
        return Sample(first, total, counted or pieces)


def _counted(event: dict[str, Any]) -> int:
    usage = event.get("usage")
    return int(usage.get("completion_tokens") or 0) if isinstance(usage, dict) else 0
