"""Customers who go on ordering and ending while a fault lasts, and who know what they were promised.

What the API server acknowledged must be there in the end; what it acknowledged as gone must be dead. A
request that failed promises nothing: the object may or may not be there, and both are right.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

from chaos_customers import QUIET, Customers, Key, read_key
from customer import token_request
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm.names import token_secret_name

PAUSE_SECONDS = 0.5
MOST_ORDERS = 12
"""Of one fault, however long it lasts."""

KEPT = 3
"""Orders that live side by side before the oldest is ended."""


@dataclass(slots=True)
class Churn:
    """The orders of one fault.

    Attributes:
        prefix: What their names begin with.
        kept: Names that were acknowledged and not taken back, in their order.
        ended: Keys of requests that are gone for certain.
    """

    client: KubeClient
    customers: Customers
    prefix: str
    kept: list[str] = field(default_factory=list)
    ended: list[Key] = field(default_factory=list)
    _adopted: set[str] = field(default_factory=set)
    _unsure: set[str] = field(default_factory=set)
    _keys: dict[str, Key] = field(default_factory=dict)

    @property
    def acknowledged(self) -> frozenset[tuple[str, str]]:
        """What must be there, as the audit names it."""
        namespace = self.customers.namespace
        names = (*self.kept, *self._adopted)
        return frozenset(("APITokenRequest", f"{namespace}/{name}") for name in names)

    @property
    def live(self) -> tuple[Key, ...]:
        """Keys of what must be there, as far as they were read."""
        return tuple(self._keys[name] for name in self.kept if name in self._keys)

    def adopt(self, name: str) -> None:
        """Take note of an order that somebody else makes; it is there until the end."""
        self._adopted.add(name)

    async def run(self) -> None:
        """Order, read and end, until enough was ordered."""
        for number in count():
            if number == MOST_ORDERS:
                return
            await self._order(f"{self.prefix}-{number}")
            await asyncio.sleep(PAUSE_SECONDS)
            await self.read()
            if len(self.kept) > KEPT:
                await self._end(self.kept.pop(0))

    async def clear(self) -> None:
        """Take everything back; the API server answers again."""
        for name in (*self.kept, *self._adopted, *self._unsure):
            await self.client.delete(kinds.API_TOKEN_REQUEST, name, self.customers.namespace)

    async def _order(self, name: str) -> None:
        request = token_request(self.customers.namespace, name, QUIET)
        try:
            await self.client.create(kinds.API_TOKEN_REQUEST, request)
        except KubernetesError:
            self._unsure.add(name)
        else:
            self.kept.append(name)

    async def read(self) -> None:
        """Read the keys that are there by now."""
        for name in set(self.kept) - self._keys.keys():
            # The Secret, or its key, is not there yet, or the API server is not.
            with suppress(KubernetesError, AssertionError, KeyError):
                secret = token_secret_name(name)
                self._keys[name] = await read_key(
                    self.client, self.customers.namespace, secret, name
                )

    async def _end(self, name: str) -> None:
        self._unsure.add(name)
        try:
            await self.client.delete(kinds.API_TOKEN_REQUEST, name, self.customers.namespace)
        except KubernetesError:
            return
        if key := self._keys.get(name):
            self.ended.append(Key(name, key.text, key.url, is_live=False))


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
