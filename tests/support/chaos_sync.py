"""A customer of a workspace who orders, changes and ends while a fault lasts, and the look at both sides.

As in :mod:`chaos_churn` what kcp acknowledged must be there in the end, what it acknowledged as ended must
be gone, and a request that failed promises nothing. One instance is served all the time, so that the keys
of the orders open something; the others are stopped and cost nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from chaos_customers import ENDED_KEYS, Key, key_of
from chaos_fault import AUDIT_SECONDS, RECOVERY_SECONDS, Fault
from chaos_gather import authservers, what_is_said
from chaos_sync_audit import Order, Sides, audit, order_of
from customer import instance, token_request, until_phase
from eventually import eventually
from privatellm import labels
from privatellm.errors import AlreadyExistsError, KubernetesError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.objects.ownership import AGENT

NAMESPACE = "default"
SERVED, STEADY, GONE = "served", "steady", "gone"
"""The instance that keys open, the request whose key is asked with all the time, one that was ended."""

KINDS = (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST)
PAUSE_SECONDS = 0.5
KEPT = 6
"""Orders that live side by side before the oldest is ended: long enough for their keys to arrive."""


@dataclass(slots=True)
class Promises:
    """What the customer of a workspace was promised, and the keys that they have and had.

    Attributes:
        specs: What must be there, with the fields of its spec that were acknowledged.
        unsure: What may be there, because a request about it failed.
        ended: What is gone for certain.
        live: Keys of what must be there, as far as they were read, by the request's name.
        dead: Keys of requests that were ended, the youngest last.
    """

    specs: dict[Order, dict[str, Any]] = field(default_factory=dict)
    unsure: set[Order] = field(default_factory=set)
    ended: set[Order] = field(default_factory=set)
    live: dict[str, Key] = field(default_factory=dict)
    dead: deque[Key] = field(default_factory=lambda: deque(maxlen=ENDED_KEYS))


@dataclass(slots=True)
class Tenant:
    """A customer in their workspace.

    Attributes:
        client: Their client, which sees the workspace and nothing else.
        promises: What they were promised.
    """

    client: KubeClient
    promises: Promises

    async def create(self, kind: Kind, manifest: Manifest) -> None:
        """Order something."""
        order = order_of(manifest)
        self.promises.unsure.add(order)
        with suppress(KubernetesError):
            # An earlier attempt may have been carried out and its answer lost.
            with suppress(AlreadyExistsError):
                await self.client.create(kind, manifest)
            self.promises.unsure.discard(order)
            self.promises.specs[order] = dict(manifest["spec"])

    async def change(self, name: str, **spec: str) -> None:
        """Change an instance that must be there."""
        order = kinds.LLM_INSTANCE.name, f"{NAMESPACE}/{name}"
        if order in self.promises.specs:
            with suppress(KubernetesError):
                await self.client.patch(kinds.LLM_INSTANCE, name, NAMESPACE, {"spec": spec})
                self.promises.specs[order] |= spec

    async def end(self, kind: Kind, name: str) -> None:
        """Delete something, whether it is there or not."""
        order = kind.name, f"{NAMESPACE}/{name}"
        self.promises.specs.pop(order, None)
        self.promises.unsure.add(order)
        key = self.promises.live.pop(name, None) if kind is kinds.API_TOKEN_REQUEST else None
        with suppress(KubernetesError):
            await self.client.delete(kind, name, NAMESPACE)
            self.promises.unsure.discard(order)
            self.promises.ended.add(order)
            self.promises.dead.extend([key.ended()] if key else [])

    async def read_keys(self) -> None:
        """Read the keys that are in the workspace by now."""
        promises, request = self.promises, kinds.API_TOKEN_REQUEST.name
        places = {
            place: place.rpartition("/")[2] for kind, place in promises.specs if kind == request
        }
        for place, name in places.items():
            if name in promises.live:
                continue
            # Kcp, the Secret or its keys may not be there: the status can arrive before the Secret.
            with suppress(KubernetesError, AssertionError, KeyError):
                key = await key_of(self.client, NAMESPACE, name)
                # It may have been ended meanwhile.
                if key and (request, place) in promises.specs:
                    promises.live[name] = key

    async def churn(self, prefix: str) -> None:
        """Order an instance and a key, change the one, read the other and end both later; for ever."""
        kept = deque[str]()
        for number in count():
            name = f"{prefix}-{number}"
            await self.create(kinds.LLM_INSTANCE, instance(NAMESPACE, name, replicas=0))
            await self.create(kinds.API_TOKEN_REQUEST, token_request(NAMESPACE, name, SERVED))
            kept.append(name)
            await asyncio.sleep(PAUSE_SECONDS)
            await self.change(name, dnsPolicy="Default")
            await self.read_keys()
            if len(kept) > KEPT:
                oldest = kept.popleft()
                await self.end(kinds.API_TOKEN_REQUEST, oldest)
                await self.end(kinds.LLM_INSTANCE, oldest)

    async def end_all(self, prefix: str = "") -> None:
        """End everything whose name begins so."""
        for kind in reversed(KINDS):
            orders = {*self.promises.specs, *self.promises.unsure}
            places = [place for name, place in sorted(orders) if name == kind.name]
            for name in (place.rpartition("/")[2] for place in places):
                if name.startswith(prefix):
                    await self.end(kind, name)


@dataclass(slots=True)
class Workspace:
    """A workspace with its customer, and the service cluster below it.

    Attributes:
        tenant: The customer.
        below: An administrator's client of the service cluster.
    """

    tenant: Tenant
    below: KubeClient

    @asynccontextmanager
    async def ordering(self, fault: Fault) -> AsyncIterator[None]:
        """Order and end during the fault in the block; then wait for the recovery and audit both sides.

        The fault is over when both sides agree. All orders are ended then, and that must be carried, too.
        """
        prefix = fault.churn.prefix
        async with _going_on(self.tenant, prefix):
            yield
            await self._until_served(f"{prefix}-again")
            fault.figures["a key in a workspace"] = fault.age
        await self.until_they_agree()
        fault.is_over()
        await self.tenant.end_all(prefix)
        await self.until_they_agree()

    async def until_they_agree(self) -> None:
        """Audit until nothing is found."""

        async def agree() -> bool:
            await self.tenant.read_keys()
            try:
                sides = await gather(self.tenant, self.below)
            except (KubernetesError, httpx.HTTPError):
                return False
            findings = audit(sides)
            assert findings == (), findings
            return True

        await eventually(agree, within=AUDIT_SECONDS, what="two sides that agree")

    async def _until_served(self, name: str) -> None:
        """Ask for a key in the workspace until it is there and opens its instance."""
        tenant, request = self.tenant, token_request(NAMESPACE, name, SERVED)

        async def served() -> bool:
            if order_of(request) not in tenant.promises.specs:
                await tenant.create(kinds.API_TOKEN_REQUEST, request)
            await tenant.read_keys()
            key = tenant.promises.live.get(name)
            return key is not None and await _opens(key, self.below)

        await eventually(served, within=RECOVERY_SECONDS, what="a new key in the workspace")


async def move_in(client: KubeClient) -> Promises:
    """Order an instance in a workspace, and two keys of it, one of which is ended."""
    tenant = Tenant(client, Promises())
    await tenant.create(kinds.LLM_INSTANCE, instance(NAMESPACE, SERVED))
    await until_phase(client, kinds.LLM_INSTANCE, NAMESPACE, SERVED, "Ready")
    for name in (STEADY, GONE):
        await tenant.create(kinds.API_TOKEN_REQUEST, token_request(NAMESPACE, name, SERVED))

    async def have_keys() -> bool:
        await tenant.read_keys()
        return tenant.promises.live.keys() == {STEADY, GONE}

    await eventually(have_keys, within=RECOVERY_SECONDS, what="two keys in the workspace")
    await tenant.end(kinds.API_TOKEN_REQUEST, GONE)
    return tenant.promises


async def move_out(workspace: Workspace) -> None:
    """End everything that the customer has, and wait until nothing of it runs."""
    await workspace.tenant.end_all()

    async def is_gone() -> bool:
        copies = [await workspace.below.list(kind, labels=AGENT) for kind in KINDS]
        selector = f"{labels.LLM_INSTANCE}={SERVED}"
        pods = await workspace.below.list(kinds.POD, labels=selector)
        return not any(listing.items for listing in (*copies, pods))

    await eventually(
        is_gone, within=AUDIT_SECONDS, what="the end of what was ordered in the workspace"
    )


async def gather(tenant: Tenant, below: KubeClient) -> Sides:
    """Look at both sides."""
    promises = tenant.promises
    copies = [each for kind in KINDS for each in (await below.list(kind, labels=AGENT)).items]
    namespaces = sorted({copy["metadata"]["namespace"] for copy in copies})
    originals = [await below.list(kinds.SECRET, namespace) for namespace in namespaces]
    return Sides(
        orders=tuple([each for kind in KINDS for each in (await tenant.client.list(kind)).items]),
        copies=tuple(copies),
        secrets=(await tenant.client.list(kinds.SECRET)).items,
        originals=tuple(each for listing in originals for each in listing.items),
        promised=dict(promises.specs),
        ended=frozenset(promises.ended),
        answers=await what_is_said(
            (*promises.live.values(), *promises.dead), await authservers(below)
        ),
    )


@asynccontextmanager
async def _going_on(tenant: Tenant, prefix: str) -> AsyncIterator[None]:
    """Let orders come and go until the block ends; it begins when the first key has arrived."""
    task = asyncio.create_task(tenant.churn(prefix))

    async def has_begun() -> bool:
        return task.done() or any(name.startswith(prefix) for name in tenant.promises.live)

    try:
        await eventually(has_begun, within=RECOVERY_SECONDS, what="a first key in the workspace")
        yield
    finally:
        is_broken = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if is_broken:
            task.result()


async def _opens(key: Key, below: KubeClient) -> bool:
    """Say whether everybody who decides lets a key in."""
    try:
        answers = await what_is_said((key,), await authservers(below))
    except (KubernetesError, httpx.HTTPError):
        return False
    return all(answer.opened for answer in answers)
