"""One fault from end to end: calm, fault under load, recovery, audit, and a line in the report.

Two recoveries are measured, because they are two promises: when customers with a key are answered again,
and when an order that is made after the fault has its key at the edge. A fault that lasts is measured from
its end. Whatever a test asserts beyond that, no dead key was let in and the audit found nothing.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex

import httpx

from chaos_audit import audit
from chaos_churn import MOST_ORDERS, Churn, churning
from chaos_customers import BUSY, Customers, read_key
from chaos_gather import gather
from chaos_load import Seen, Stream, seen, streaming
from chaos_parts import Parts
from chaos_report import Report, Row
from customer import token_request
from eventually import eventually
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds

RECOVERY_SECONDS = 180.0
"""Until everybody is served again; the machine may be busy, and the figure is reported."""

AUDIT_SECONDS = 90.0
"""Until the audit finds nothing: status follows what it is about, and a sweep comes each minute."""


@dataclass(slots=True)
class Fault:
    """A fault under way.

    Attributes:
        stream: The customers' requests.
        churn: The customers' orders.
        began: Monotonic time of its beginning.
        ended: The same of its end; its beginning while it is not over.
        figures: What a test measured besides, by what it is, in seconds unless the name says otherwise.
    """

    stream: Stream
    churn: Churn
    began: float
    ended: float
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

    def seen(self) -> Seen:
        """Return what the customers have seen so far."""
        return seen(self.stream.results, self.began, self.ended)


@dataclass(slots=True)
class Stage:
    """The environment under test, with its customers and its report."""

    client: KubeClient
    parts: Parts
    customers: Customers
    report: Report

    @asynccontextmanager
    async def fault(self, name: str) -> AsyncIterator[Fault]:
        """Play a fault in the block, then wait for the recovery, audit and report.

        Args:
            name: What happens, as the report says it.
        """
        async with streaming(self.customers) as stream:
            await stream.until_calm(RECOVERY_SECONDS)
            async with churning(self.client, self.customers, f"c-{token_hex(3)}") as churn:
                now = time.monotonic()
                fault = Fault(stream, churn, now, now)
                yield fault
                ordered = await self._order_again(fault)
                await stream.until_calm(RECOVERY_SECONDS)
        audited = await self._audit(churn)
        row = _row(name, fault, ordered, audited)
        self.report.add(row)
        assert row.wrong_allows == 0
        await churn.clear()

    async def _order_again(self, fault: Fault) -> float:
        """Order a key until it opens its instance; return the seconds since the fault was over."""
        name = f"{fault.churn.prefix}-{MOST_ORDERS}"
        fault.churn.adopt(name)

        async def accepted() -> bool:
            return await _is_open(self.client, self.customers.namespace, name)

        await eventually(accepted, within=RECOVERY_SECONDS, what="a new key at the edge")
        return time.monotonic() - fault.ended

    async def _audit(self, churn: Churn) -> float:
        """Look until the audit finds nothing; return the seconds that it took."""
        began = time.monotonic()
        self.customers.ended = tuple(churn.ended)

        async def clean() -> bool:
            await churn.read()
            try:
                snapshot = await gather(
                    self.client, self.parts, self.customers, churn.acknowledged, churn.live
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
        figures={what: round(value, 2) for what, value in fault.figures.items()},
    )


async def _is_open(client: KubeClient, namespace: str, name: str) -> bool:
    """Order a key unless it was ordered, and say whether it opens the busy instance by now."""
    try:
        request = await client.get(kinds.API_TOKEN_REQUEST, name, namespace)
        if request is None:
            await client.create(kinds.API_TOKEN_REQUEST, token_request(namespace, name, BUSY))
            return False
        status = request.get("status") or {}
        if status.get("phase") != "Ready":
            return False
        key = await read_key(client, namespace, status["secretName"], name)
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(key.models, headers=key.headers)
    except (KubernetesError, httpx.HTTPError):
        return False
    return answer.status_code == httpx.codes.OK
