"""Operators that are limited to some namespaces and share a cluster, and with it its models."""

from collections.abc import AsyncIterator

import pytest

from operator_passes import catalogue_entry, order
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.reconcile.model.reconciler import ModelReconciler
from privatellm_operator.settings import PodSettings, PublicSettings, Settings, WatchSettings
from privatellm_operator.world.cache import World
from token_crash import FragileClient

pytestmark = pytest.mark.integration


class ModelOperator:
    """The passes over models of an operator that serves one namespace."""

    def __init__(self, client: KubeClient, home: str, tenant: str) -> None:
        self._client = client
        self._tenant = tenant
        self._world = World()
        settings = Settings(
            public=PublicSettings(host="llm.example.com"),
            pod=PodSettings(namespace=home),
            watch=WatchSettings(namespaces=(tenant,)),
        )
        key = PlatformKey.of("a platform key of the tests, long enough")
        context = ProcessContext(client, settings, key, self._world, WorkQueue())
        self._models = ModelReconciler(context)

    async def reconcile(self, model: str) -> None:
        """Look at what it may see and do one pass."""
        for kind, namespace in ((kinds.LLM_MODEL, None), (kinds.LLM_INSTANCE, self._tenant)):
            self._world[kind].replace(await self._client.list(kind, namespace), namespace)
        await self._models.reconcile(Key(kinds.LLM_MODEL, "", model))


@pytest.fixture
async def model(client: KubeClient, tenant: str) -> AsyncIterator[str]:
    """A model without a declared digest, of which nothing is recorded yet."""
    name = f"shared-{tenant}"
    await client.create(kinds.LLM_MODEL, catalogue_entry(name))
    yield name
    if await client.get(kinds.LLM_MODEL, name) is not None:
        await client.patch(kinds.LLM_MODEL, name, None, {"metadata": {"finalizers": []}})
        await client.delete(kinds.LLM_MODEL, name)


async def _model(client: KubeClient, name: str) -> Manifest:
    found = await client.get(kinds.LLM_MODEL, name)
    assert found is not None
    return found


async def test_a_model_goes_with_the_last_user_of_the_last_operator(
    client: KubeClient, fragile: FragileClient, tenant: str, system: str, model: str
) -> None:
    """Neither lets it go under the other's instances, and neither takes back what the other says."""
    one = ModelOperator(fragile, f"{system}-one", tenant)
    two = ModelOperator(fragile, f"{system}-two", system)
    for namespace in (tenant, system):
        await client.create(kinds.LLM_INSTANCE, order(namespace, model=model))
    for operator in (one, two):
        await operator.reconcile(model)
    assert len((await _model(client, model))["metadata"]["finalizers"]) == 2

    await client.delete(kinds.LLM_MODEL, model)
    for operator in (one, two):
        await operator.reconcile(model)
    fragile.forget()
    for operator in (one, two, one, two):
        await operator.reconcile(model)
    assert fragile.writes == []

    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)
    await one.reconcile(model)
    await two.reconcile(model)
    assert len((await _model(client, model))["metadata"]["finalizers"]) == 1

    await client.delete(kinds.LLM_INSTANCE, "chat", system)
    await two.reconcile(model)
    assert await client.get(kinds.LLM_MODEL, model) is None


async def test_a_model_that_only_others_use_is_left_alone(
    client: KubeClient, fragile: FragileClient, tenant: str, system: str, model: str
) -> None:
    """Its status is theirs to write."""
    one = ModelOperator(fragile, f"{system}-one", tenant)
    two = ModelOperator(fragile, f"{system}-two", system)
    await client.create(kinds.LLM_INSTANCE, order(system, model=model))
    await two.reconcile(model)
    before = await _model(client, model)

    fragile.forget()
    await one.reconcile(model)

    assert fragile.writes == []
    assert await _model(client, model) == before
