"""Usage over a change of leader: the real operator, the real check, and requests before and after."""

import httpx
import pytest

from customer import Credentials, ask_for_key, order, until_routed
from eventually import eventually
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_local.platform.facts import OPERATOR, SYSTEM_NAMESPACE
from telemetry_scrapes import scrape

pytestmark = [pytest.mark.integration, pytest.mark.deep, pytest.mark.timeout(300)]

SOON = 90.0
"""Seconds in which every pod of the check is asked, on a busy machine."""

BEFORE = 20
"""Requests in the time of the first leader."""

FAMILIES = ("private_llm_key_requests_total", "private_llm_instance_requests_total")


class Customer:
    """Asks the cheapest question.

    Attributes:
        asked: How often it asked.
    """

    def __init__(self, http: httpx.AsyncClient, credentials: Credentials) -> None:
        self._http = http
        self._url = f"{credentials.base_url}/models"
        self.asked = 0

    async def ask(self) -> bool:
        """Ask once and return whether there was an answer; above the key's rate the edge says 429."""
        self.asked += 1
        return (await self._http.get(self._url)).status_code == 200


async def leader(client: KubeClient) -> Manifest | None:
    """Return the pod of the operator once it is ready and no other is left."""
    pods = await client.list(kinds.POD, SYSTEM_NAMESPACE, labels=f"{labels.NAME}={OPERATOR}")
    if len(pods.items) != 1:
        return None
    [pod] = pods.items
    conditions = pod["status"].get("conditions", ())
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return pod if is_ready else None


async def counted(client: KubeClient, namespace: str) -> set[float]:
    """Return what the counters by key and by instance show."""
    seen = await scrape(client, (OPERATOR,))
    return {seen.total(name, llm_namespace=namespace) for name in FAMILIES}


async def test_another_leader_counts_nothing_again(client: KubeClient, namespace: str) -> None:
    """It shows what was asked in its own time, although the pods of the check know of all requests."""
    await order(client, namespace, "chat")
    credentials = await ask_for_key(client, namespace, "key", "chat")
    async with httpx.AsyncClient(headers=credentials.headers) as http:
        await until_routed(http, credentials)
        customer = Customer(http, credentials)
        for _ in range(BEFORE):
            await eventually(customer.ask, what="an answer within the key's rate")

        async def all_counted() -> bool:
            return min(await counted(client, namespace)) >= BEFORE

        await eventually(all_counted, within=SOON, what="the counts of the first leader")
        first = await leader(client)
        assert first is not None
        await client.delete(kinds.POD, first["metadata"]["name"], SYSTEM_NAMESPACE)

        async def replaced() -> bool:
            found = await leader(client)
            return found is not None and found["metadata"]["uid"] != first["metadata"]["uid"]

        await eventually(replaced, within=SOON, what="another leader")
        customer.asked = 0
        shown: list[float] = []

        async def grows() -> bool:
            await customer.ask()
            shown.extend(await counted(client, namespace))
            return shown[-1] > 0

        await eventually(grows, within=SOON, what="the counts of the second leader")

    assert all(count <= customer.asked for count in shown)
