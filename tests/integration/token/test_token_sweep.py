"""Verifiers that nobody answers for disappear, and no others."""

import pytest

from privatellm import labels
from privatellm.kube import kinds
from token_objects import REQUEST, Tenant
from token_operator import TokenOperator

pytestmark = pytest.mark.integration


@pytest.fixture
async def issued(tenant: Tenant, operator: TokenOperator) -> str:
    """The key of a request that is ready."""
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    return (await tenant.data())["OPENAI_API_KEY"]


async def test_the_sweep_ends_keys_whose_request_went_while_nobody_looked(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.strip_finalizers()
    await tenant.withdraw()

    removed = await TokenOperator(tenant.client, tenant.token_namespace).sweeper.sweep()

    assert removed == 1
    assert not await tenant.opens(issued)


async def test_the_sweep_leaves_living_keys_alone(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    assert await operator.sweeper.sweep() == 0
    assert await tenant.opens(issued)


async def test_the_sweep_removes_a_verifier_that_passes_cannot_find(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    """The edge goes by a verifier's fields, so one without labels would outlive its request."""
    (verifier,) = await tenant.verifiers()
    await tenant.client.patch(
        kinds.SECRET,
        f"v-{verifier.key_id}",
        tenant.token_namespace,
        {"metadata": {"labels": {labels.REQUEST_UID: None}}},
    )

    assert await operator.sweeper.sweep() == 1
    assert not await tenant.opens(issued)


async def test_revoking_an_instance_ends_all_its_keys_and_no_others(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    instance = await tenant.client.get(kinds.LLM_INSTANCE, "chat", tenant.namespace)
    assert instance is not None
    await tenant.order(name="other")
    await tenant.ask(name="second")
    await tenant.ask(name="elsewhere", instanceName="other")
    for name in ("second", "elsewhere"):
        await operator.reconcile(tenant.namespace, name)
    kept = (await tenant.data("elsewhere-token"))["OPENAI_API_KEY"]

    await operator.sweeper.revoke_instance(instance["metadata"]["uid"])

    assert not await tenant.opens(issued)
    assert len(await tenant.verifiers()) == 1
    assert await tenant.opens(kept)


async def test_a_pass_during_the_instances_deletion_issues_no_new_key(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.client.patch(
        kinds.LLM_INSTANCE,
        "chat",
        tenant.namespace,
        {"metadata": {"finalizers": [labels.INSTANCE_FINALIZER]}},
    )
    await tenant.cancel()

    await operator.reconcile(tenant.namespace, REQUEST)

    assert await tenant.verifiers() == ()
    assert not await tenant.opens(issued)
    await tenant.client.patch(
        kinds.LLM_INSTANCE, "chat", tenant.namespace, {"metadata": {"finalizers": []}}
    )
