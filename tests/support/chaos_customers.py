"""The customers of the fault suite: their instances, and keys that must open or must not.

``busy`` runs a model server; ``quiet`` is stopped, so that orders cost nothing. What is dead has been seen
to be refused once before it counts, because a key may outlive its end by the moments that a watch takes.
"""

import asyncio
import secrets
from dataclasses import dataclass, field

import httpx

from customer import ask_for_key, order, read_credentials, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.tokens import Token
from privatellm_local.platform.rbac import tenant_binding

BUSY, QUIET = "busy", "quiet"
LIVE_KEYS = 3
SHORT_LIFE = "15s"


@dataclass(frozen=True, slots=True)
class Key:
    """One key, and the instance that it is shown to.

    Attributes:
        name: What it is, for reports.
        text: The token.
        url: The instance's endpoint.
        is_live: Whether it must open that instance.
    """

    name: str
    text: str = field(repr=False)
    url: str
    is_live: bool

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
        ended: Keys that were ended during the last fault.
    """

    namespace: str
    live: tuple[Key, ...]
    talking: Key
    dead: tuple[Key, ...]
    ended: tuple[Key, ...] = ()

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
    elsewhere = Key("foreign", foreign.text, live[0].url, is_live=False)
    forged = Key("forged", Token.mint().reveal(), live[0].url, is_live=False)
    ended = [Key(key.name, key.text, key.url, is_live=False) for key in (revoked, deleted, expired)]
    customers = Customers(namespace, tuple(live), talking, (*ended, elsewhere, forged))
    await until_told_apart(customers)
    return customers


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
    return Key(name, credentials.api_key, credentials.url, is_live=True)


async def _key(
    client: KubeClient, namespace: str, name: str, instance: str = BUSY, **spec: str
) -> Key:
    credentials = await ask_for_key(client, namespace, name, instance, **spec)
    return Key(name, credentials.api_key, credentials.url, is_live=True)
