"""Customers who go on ordering and ending while a fault lasts, and who know what they were promised.

What the API server acknowledged must be there in the end; what it acknowledged as gone must be dead. An
order that failed promises nothing, so it is made again under the same name, as customers do. They go on for
as long as the fault does and wait for one thing at a time, so a platform that stands still is not buried.

Deleting a request asks for the end of its key; the end itself is that of the verifier, which the operator
removes. From the moment in which the API server says that it is gone, no one has an excuse.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from chaos_customers import BUSY, Customers, Key, Orders, key_of
from customer import instance, token_request
from privatellm.errors import AlreadyExistsError, KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm_local.platform.facts import TOKEN_NAMESPACE

PAUSE_SECONDS = 0.2
"""Between one order and the next."""

ASK_SECONDS = 0.1
"""Between two looks at what is waited for."""

KEPT = 3
"""Orders that live side by side before the oldest is ended."""

INSTANCE_EVERY = 4
"""One order in so many is an instance, a stopped one."""


@dataclass(frozen=True, slots=True)
class Order:
    """Something that a customer ordered."""

    kind: Kind
    name: str


@dataclass(slots=True)
class Churn:
    """The orders of one fault.

    Attributes:
        prefix: What their names begin with.
        kept: What was acknowledged and not taken back, in its order.
        acknowledgements: How many orders and ends were acknowledged.
        ending: Keys whose request is gone for certain, and whose verifier was not yet seen to be.
    """

    client: KubeClient
    customers: Customers
    prefix: str
    kept: list[Order] = field(default_factory=list)
    acknowledgements: int = 0
    ending: set[Key] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _adopted: set[Order] = field(default_factory=set)
    _unsure: set[Order] = field(default_factory=set)
    _keys: dict[str, Key] = field(default_factory=dict)

    @property
    def acknowledged(self) -> Orders:
        """What must be there, as the audit names it."""
        namespace = self.customers.namespace
        ours = (*self.kept, *self._adopted)
        return self.customers.acknowledged | {(o.kind.name, f"{namespace}/{o.name}") for o in ours}

    @property
    def others(self) -> tuple[Key, ...]:
        """Keys that the customers do not have any more, or did not have before."""
        live = (self._keys[order.name] for order in self.kept if order.name in self._keys)
        return (*live, *(key.ended() for key in self.ending))

    def adopt(self, name: str, kind: Kind = kinds.API_TOKEN_REQUEST) -> None:
        """Take note of an order that somebody else makes; it is there until the end."""
        self._adopted.add(Order(kind, name))

    async def run(self) -> None:
        """Order, wait for what was ordered and end the oldest, until cancelled."""
        for number in count():
            is_instance = number % INSTANCE_EVERY == INSTANCE_EVERY - 1
            kind = kinds.LLM_INSTANCE if is_instance else kinds.API_TOKEN_REQUEST
            async with self._turn:
                await self._have(Order(kind, f"{self.prefix}-{number}"))
                if len(self.kept) > KEPT:
                    await self._end(self.kept.pop(0))
            await asyncio.sleep(PAUSE_SECONDS)

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Finish what is under way, and order and end nothing until the block ends."""
        async with self._turn:
            yield

    async def read(self) -> None:
        """Read the keys that are there by now."""
        for order in self.kept:
            if order.kind is kinds.API_TOKEN_REQUEST and order.name not in self._keys:
                await self._is_served(order)

    async def clear(self) -> None:
        """Take everything back; the API server answers again."""
        for order in (*self.kept, *self._adopted, *self._unsure):
            await self.client.delete(order.kind, order.name, self.customers.namespace)

    async def _have(self, order: Order) -> None:
        await _until(partial(self._place, order))
        await _until(partial(self._is_served, order))

    async def _place(self, order: Order) -> bool:
        self._unsure.add(order)
        # An earlier attempt may have been carried out and its answer lost.
        with suppress(AlreadyExistsError):
            await self.client.create(order.kind, _manifest(self.customers.namespace, order))
        self._unsure.discard(order)
        self.kept.append(order)
        self.acknowledgements += 1
        return True

    async def _is_served(self, order: Order) -> bool:
        namespace, name = self.customers.namespace, order.name
        if order.kind is kinds.LLM_INSTANCE:
            found = await self.client.get(order.kind, name, namespace) or {}
            return bool((found.get("status") or {}).get("phase") == "Stopped")
        key = await key_of(self.client, namespace, name)
        if key is not None:
            self._keys[name] = key
        return key is not None

    async def _end(self, order: Order) -> None:
        self._unsure.add(order)
        await _until(partial(self._is_taken_back, order))
        self._unsure.discard(order)
        self.acknowledgements += 1
        if key := self._keys.pop(order.name, None):
            self.ending.add(key)
            await _until(partial(self._has_no_verifier, key))
            self.customers.ended.append(key.ended(time.monotonic()))
            self.ending.discard(key)

    async def _is_taken_back(self, order: Order) -> bool:
        await self.client.delete(order.kind, order.name, self.customers.namespace)
        return True

    async def _has_no_verifier(self, key: Key) -> bool:
        return await self.client.get(kinds.SECRET, key.verifier, TOKEN_NAMESPACE) is None


@asynccontextmanager
async def churning(client: KubeClient, customers: Customers, prefix: str) -> AsyncIterator[Churn]:
    """Order and end until the block ends."""
    churn = Churn(client, customers, prefix)
    task = asyncio.create_task(churn.run())
    try:
        yield churn
    finally:
        is_broken = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if is_broken:
            task.result()


def _manifest(namespace: str, order: Order) -> dict[str, Any]:
    if order.kind is kinds.LLM_INSTANCE:
        return instance(namespace, order.name, replicas=0)
    return token_request(namespace, order.name, BUSY)


async def _until(done: Callable[[], Awaitable[bool]]) -> None:
    """Try again for as long as it is not done or the API server fails."""
    while True:
        with suppress(KubernetesError):
            if await done():
                return
        await asyncio.sleep(ASK_SECONDS)
