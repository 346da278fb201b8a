"""Orders, requests and the end of a namespace in the same moment, with the operator's real process."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex
from unittest.mock import patch

import pytest

import chaos_audit
from chaos_customers import Orders
from customer import token_request, until_phase
from eventually import eventually
from operator_passes import order
from operator_process import environment, running
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.settings import Settings
from privatellm_operator.world.watched import CHILDREN, OURS

pytestmark = pytest.mark.integration

INSTANCES = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where it happens.

    Attributes:
        tenant: The namespace that stays.
        doomed: The namespace that goes.
        tokens: Where verifiers live.
        variables: The operator's environment.
    """

    tenant: str
    doomed: str
    tokens: str
    variables: dict[str, str]


@pytest.fixture
async def place(
    client: KubeClient, bare_kubeconfig: Path, tmp_path: Path, tenant: str, system: str
) -> AsyncIterator[Place]:
    """Two namespaces of customers, and an operator that serves these two."""
    doomed, tokens = f"doomed-{token_hex(4)}", f"{system}-tokens"
    for name in (doomed, tokens):
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(kinds.NAMESPACE, manifest)
    variables = environment(
        bare_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=tokens,
        PRIVATE_LLM_NAMESPACES=f"{tenant},{doomed}",
    )
    yield Place(tenant, doomed, tokens, variables)
    await client.delete(kinds.NAMESPACE, tokens)


async def furnish(client: KubeClient, place: Place) -> None:
    """Have an instance and a key in the namespace that will go."""
    await client.create(kinds.LLM_INSTANCE, order(place.doomed))
    await client.create(kinds.API_TOKEN_REQUEST, token_request(place.doomed, "key", "chat"))
    await until_phase(client, kinds.API_TOKEN_REQUEST, place.doomed, "key", "Ready")


async def order_and_delete(client: KubeClient, place: Place) -> Orders:
    """Do everything at once and return what the API server has taken."""
    orders = [order(place.tenant, f"chat-{number}") for number in range(INSTANCES)]
    requests = [token_request(place.tenant, name, name) for name in ("chat-0", "chat-1")]
    _deleted, taken = await asyncio.gather(
        client.delete(kinds.NAMESPACE, place.doomed),
        asyncio.gather(
            *(client.create(kinds.LLM_INSTANCE, each) for each in orders),
            *(client.create(kinds.API_TOKEN_REQUEST, each) for each in requests),
        ),
    )
    return frozenset((each["kind"], chaos_audit.name_of(each)) for each in taken)


async def snapshot(client: KubeClient, place: Place, acknowledged: Orders) -> chaos_audit.Snapshot:
    """Look at what became of it."""
    with patch.dict(os.environ, place.variables, clear=True):
        settings = Settings.of_environment()

    async def items(
        kind: Kind, namespace: str | None = place.tenant, selector: str = ""
    ) -> tuple[Manifest, ...]:
        return (await client.list(kind, namespace, labels=selector)).items

    children = [await items(watching.kind, selector=OURS) for watching in CHILDREN]
    return chaos_audit.Snapshot(
        now=chaos_audit.utc_now(),
        settings=settings,
        platform_key=PlatformKey.read(settings.tokens.platform_key_file),
        acknowledged=acknowledged,
        instances=await items(kinds.LLM_INSTANCE),
        requests=await items(kinds.API_TOKEN_REQUEST),
        models=await items(kinds.LLM_MODEL, None),
        children=tuple(chain.from_iterable(children)),
        middlewares=await items(kinds.MIDDLEWARE, settings.pod.namespace),
        verifiers=await items(kinds.SECRET, place.tokens),
        secrets=await items(kinds.SECRET),
    )


async def test_orders_requests_and_the_end_of_a_namespace_at_once_end_in_a_consistent_world(
    client: KubeClient, place: Place, tmp_path: Path
) -> None:
    """By the audit of the fault suite, which derives from the orders alone what must be there."""
    async with running(place.variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        await furnish(client, place)
        assert len((await client.list(kinds.SECRET, place.tokens)).items) == 1

        acknowledged = await order_and_delete(client, place)

        async def settled() -> bool:
            assert await client.get(kinds.NAMESPACE, place.doomed) is None
            seen = await snapshot(client, place, acknowledged)
            assert len(seen.instances) == INSTANCES
            assert chaos_audit.audit(seen) == ()
            return True

        await eventually(settled, within=90, what="a consistent world")
        assert len((await client.list(kinds.SECRET, place.tokens)).items) == 2
        assert await operator.stop() == 0
