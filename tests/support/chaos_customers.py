"""The customers of the fault suite: their instances, and keys that must open or must not.

``busy`` runs a model server, so that whoever lets a key in shows it; ``quiet`` is stopped, for whatever
needs an instance and no answer. A key may outlive its end by what a watch takes, and by more while one is
cut off: so a key that has ended says when its end was acknowledged, and whoever judges an answer knows how
long that may take.
"""

import asyncio
import math
import secrets
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import httpx

from customer import ask_for_key, order, read_credentials, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.names import verifier_name
from privatellm.tokens import Token
from privatellm_local.platform.rbac import tenant_binding

BUSY, QUIET = "busy", "quiet"
LIVE_KEYS = 9
"""So many in turn that each stays below the edge's ten requests a second and a key."""

SHORT_LIFE = "15s"
ENDED_KEYS = 40
"""Of those that end during faults so many are remembered, the youngest ones."""

SEEN_REFUSED = -math.inf
"""Stands for an end that is so long ago that everybody has been seen to know of it."""

Orders = frozenset[tuple[str, str]]
"""Kind and ``namespace/name``."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key, and the instance that it is shown to.

    Attributes:
        name: What it is, for reports.
        text: The token.
        url: The instance's endpoint.
        ended_at: Monotonic time at which its end was acknowledged; infinity while it has none.
    """

    name: str
    text: str = field(repr=False)
    url: str
    ended_at: float = math.inf

    @property
    def is_live(self) -> bool:
        """Whether it must open that instance."""
        return self.ended_at == math.inf

    @property
    def verifier(self) -> str:
        """Name of the Secret by which the edge knows it."""
        return verifier_name(Token.parse(self.text).key_id)

    def ended(self, at: float = SEEN_REFUSED) -> "Key":
        """Return the key with an end."""
        return replace(self, ended_at=at)

    @property
    def headers(self) -> dict[str, str]:
        """The header that shows it."""
        return {"Authorization": f"Bearer {self.text}"}

    @property
    def models(self) -> str:
        """A question that costs the model server nothing."""
        return f"{self.url}/v1/models"


@dataclass(slots=True)
class Customers:
    """What the customers of one run have.

    Attributes:
        namespace: Where they order.
        live: Keys of ``busy`` that must open it all the time.
        talking: A further one, for completions.
        dead: Keys that must never open anything.
        acknowledged: What they have ordered and not taken back.
        ended: Keys that were ended during faults, the youngest last.
    """

    namespace: str
    live: tuple[Key, ...]
    talking: Key
    dead: tuple[Key, ...]
    acknowledged: Orders
    ended: deque[Key] = field(default_factory=lambda: deque(maxlen=ENDED_KEYS))

    def all(self) -> tuple[Key, ...]:
        """Return every key."""
        return (*self.live, self.talking, *self.dead, *self.ended)


async def move_in(client: KubeClient) -> Customers:
    """Onboard a namespace, order both instances, and end some keys in each way there is."""
    namespace = f"chaos-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.create(kinds.NAMESPACE, manifest)
    await client.create(kinds.ROLE_BINDING, tenant_binding(namespace))
    await asyncio.gather(
        order(client, namespace, BUSY),
        order(client, namespace, QUIET, phase="Stopped", replicas=0),
    )
    names = [f"live-{number}" for number in range(LIVE_KEYS)]
    *live, talking, revoked, deleted, expired, foreign = await asyncio.gather(
        *(_key(client, namespace, name) for name in names),
        _key(client, namespace, "talking"),
        _key(client, namespace, "revoked"),
        _key(client, namespace, "deleted"),
        _key(client, namespace, "expired", expiresAfter=SHORT_LIFE),
        _key(client, namespace, "foreign", instance=QUIET),
    )
    patch = {"spec": {"revoked": True}}
    await client.patch(kinds.API_TOKEN_REQUEST, "revoked", namespace, patch)
    await client.delete(kinds.API_TOKEN_REQUEST, "deleted", namespace)
    await until_phase(client, kinds.API_TOKEN_REQUEST, namespace, "expired", "Expired")
    url = talking.url
    forged = Key("forged", Token.mint().reveal(), url)
    dead = (revoked, deleted, expired, replace(foreign, url=url), forged)
    customers = Customers(
        namespace,
        tuple(live),
        talking,
        tuple(key.ended() for key in dead),
        _orders(namespace, (BUSY, QUIET), (*names, "talking", "revoked", "expired", "foreign")),
    )
    await until_told_apart(customers)
    return customers


def _orders(namespace: str, instances: Iterable[str], requests: Iterable[str]) -> Orders:
    ordered = {("LLMInstance", f"{namespace}/{name}") for name in instances}
    return frozenset(ordered | {("APITokenRequest", f"{namespace}/{name}") for name in requests})


async def until_told_apart(customers: Customers) -> None:
    """Wait until every key is answered as it must be."""
    async with httpx.AsyncClient(trust_env=False) as http:

        async def told_apart() -> bool:
            for key in customers.all():
                answer = await http.get(key.models, headers=key.headers)
                assert (answer.status_code == httpx.codes.OK) is key.is_live, (key, answer)
            return True

        await eventually(told_apart, within=60, what="an edge that tells keys apart")


async def read_key(client: KubeClient, namespace: str, secret: str, name: str) -> Key:
    """Read a live key from its Secret."""
    credentials = await read_credentials(client, namespace, secret)
    return Key(name, credentials.api_key, credentials.url)


async def key_of(client: KubeClient, namespace: str, name: str) -> Key | None:
    """Return the key of a request, or ``None`` while it has none."""
    request = await client.get(kinds.API_TOKEN_REQUEST, name, namespace) or {}
    status = request.get("status") or {}
    if status.get("phase") != "Ready":
        return None
    return await read_key(client, namespace, status["secretName"], name)


async def _key(
    client: KubeClient, namespace: str, name: str, instance: str = BUSY, **spec: str
) -> Key:
    credentials = await ask_for_key(client, namespace, name, instance, **spec)
    return Key(name, credentials.api_key, credentials.url)
