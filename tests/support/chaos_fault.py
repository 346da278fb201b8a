"""One fault from end to end: calm, fault under load, recovery, audit, and a line in the report.

Two recoveries are measured, because they are two promises: when customers with a key are answered again,
and when an order that is made after the fault has its key at the edge. A fault that lasts is measured from
its end. Whatever a test asserts beyond that, the audit found nothing and no dead key was let in.

A key is dead some time after the API server has acknowledged that its verifier is gone. How long that is
depends on what the fault does to the watch by which it travels, so each fault has a bound. And the key is
dead for certain when everybody who decides has let in a key that was ordered later, because what is watched
arrives in its order.
"""

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex

import httpx

from chaos_audit import audit
from chaos_churn import Churn, churning
from chaos_customers import BUSY, Customers, Key, key_of
from chaos_gather import authservers, gather, what_is_said
from chaos_load import Seen, Stream, seen, streaming
from chaos_parts import Parts
from chaos_report import Report, Row
from customer import token_request
from eventually import eventually
from privatellm.errors import AlreadyExistsError, KubernetesError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_authserver.settings import Settings

RECOVERY_SECONDS = 180.0
"""Until everybody is served again; the machine may be busy, and the figure is reported."""

AUDIT_SECONDS = 90.0
"""Until the audit finds nothing: status follows what it is about, and a sweep comes each minute."""

BY_EVENT = 3.0
"""How long a key may outlive its end while the watch of the ForwardAuth service is whole: events travel in
less than 0.1 s, and a busy machine lets nobody wait for longer than this."""

BY_WATCH = 10.0
"""The same when the watch breaks and the ForwardAuth service is told at once: it waits for 5 s at most
before it asks again, and an API server that starts takes its time to answer."""

BY_STALENESS = float(Settings.model_fields["max_staleness_seconds"].default)
"""The same when nothing tells it: without a confirmation for so long it lets nobody in."""


@dataclass(slots=True)
class Fault:
    """A fault under way.

    Attributes:
        stream: The customers' requests.
        churn: The customers' orders.
        began: Monotonic time of its beginning.
        ended: The same of its end; its beginning while it is not over.
        bound: Seconds after the end of a key during which it may be let in.
        ordered: When the key was ordered that shows the recovery.
        consistent: When everybody who decides has let that key in.
        figures: What a test measured besides, by what it is, in seconds unless the name says otherwise.
    """

    stream: Stream
    churn: Churn
    began: float
    ended: float
    bound: float
    ordered: float = math.inf
    consistent: float = math.inf
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def age(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def begins(self) -> None:
        """Note that it begins now, after preparations."""
        self.began = self.ended = time.monotonic()

    def is_over(self) -> None:
        """Note that what was broken is whole from now on."""
        self.ended = time.monotonic()

    async def lasts(self, seconds: float) -> None:
        """Keep it open until it is so old, so that enough is asked meanwhile."""

        async def old_enough() -> bool:
            return self.age > seconds

        await eventually(old_enough, within=seconds + 1, what=f"{seconds:g} s of a fault")

    def deadline(self, key: Key) -> float:
        """Return until when a key may be let in that has ended."""
        late = key.ended_at + self.bound
        return min(late, self.consistent) if key.ended_at < self.ordered else late

    def seen(self) -> Seen:
        """Return what the customers have seen so far."""
        return seen(self.stream.results, self.began, self.ended, self.deadline)


@dataclass(slots=True)
class Stage:
    """The environment under test, with its customers and its report."""

    client: KubeClient
    parts: Parts
    customers: Customers
    report: Report

    @asynccontextmanager
    async def fault(self, name: str, *, bound: float = BY_EVENT) -> AsyncIterator[Fault]:
        """Play a fault in the block, then wait for the recovery, audit and report.

        Args:
            name: What happens, as the report says it.
            bound: Seconds after the end of a key during which it may be let in.
        """
        async with streaming(self.customers) as stream:
            await stream.until_calm(RECOVERY_SECONDS)
            async with churning(self.client, self.customers, f"c-{token_hex(3)}") as churn:
                now = time.monotonic()
                fault = Fault(stream, churn, now, now, bound)
                yield fault
                ordered = await self._order_again(fault)
                await stream.until_calm(RECOVERY_SECONDS)
            audited = await self._audit(churn)
        row = _row(name, fault, ordered, audited)
        self.report.add(row)
        assert row.wrong_allows == 0
        await churn.clear()

    async def order_key(self, fault: Fault, name: str, **spec: str) -> Key:
        """Order a key of the busy instance and return it when everybody who decides lets it in."""
        namespace, full = self.customers.namespace, f"{fault.churn.prefix}-{name}"
        request = token_request(namespace, full, BUSY, **spec)
        fault.churn.adopt(full)
        placed = partial(_is_placed, self.client, request)
        await eventually(placed, within=RECOVERY_SECONDS, what="an order that is taken")
        opened = partial(_open_key, self.client, namespace, full)
        key = await eventually(opened, within=RECOVERY_SECONDS, what="a new key at the edge")
        assert key is not None
        return key

    async def _order_again(self, fault: Fault) -> float:
        """Order a key until it opens its instance; return the seconds since the fault was over."""
        fault.ordered = time.monotonic()
        await self.order_key(fault, "again")
        fault.consistent = time.monotonic()
        return fault.consistent - fault.ended

    async def _audit(self, churn: Churn) -> float:
        """Look until the audit finds nothing; return the seconds that it took."""
        began = time.monotonic()

        async def clean() -> bool:
            try:
                await churn.read()
                snapshot = await gather(
                    self.client, self.parts, self.customers, churn.acknowledged, churn.others
                )
            except (KubernetesError, httpx.HTTPError):
                return False
            findings = audit(snapshot)
            assert findings == (), findings
            return True

        await eventually(clean, within=AUDIT_SECONDS, what="an audit without a finding")
        return time.monotonic() - began


def _row(name: str, fault: Fault, ordered: float, audited: float) -> Row:
    told = fault.seen()
    return Row(
        fault=name,
        lasted=round(fault.ended - fault.began, 1),
        requests=told.requests,
        refused=told.refused,
        answered_after=round(told.dark_seconds, 2),
        ordered_after=round(ordered, 2),
        audited_after=round(audited, 2),
        dead_requests=told.dead_requests,
        wrong_allows=sum(told.wrong_allows.values()),
        orders=fault.churn.acknowledgements,
        ended_keys=told.ended,
        outlived=round(told.outlived, 2),
        figures={what: round(value, 2) for what, value in fault.figures.items()},
    )


async def _is_placed(client: KubeClient, request: Manifest) -> bool:
    try:
        await client.create(kinds.API_TOKEN_REQUEST, request)
    except AlreadyExistsError:
        return True  # An earlier attempt was carried out and its answer lost.
    except KubernetesError:
        return False
    return True


async def _open_key(client: KubeClient, namespace: str, name: str) -> Key | None:
    """Return a key if everybody who decides lets it in by now."""
    try:
        key = await key_of(client, namespace, name)
        answers = await what_is_said((key,), await authservers(client)) if key else ()
    except (KubernetesError, httpx.HTTPError):
        return None
    return key if all(answer.opened for answer in answers) else None
