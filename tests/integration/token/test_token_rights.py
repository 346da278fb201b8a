"""The operator with exactly the rights that it names, and without those it lacks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from privatellm.errors import ForbiddenError
from privatellm.kube import KubeClient, kinds
from token_objects import REQUEST, SECRET, Tenant
from token_operator import TokenOperator
from token_rights import onboard, operator_kubeconfig

pytestmark = pytest.mark.integration


@pytest.fixture
async def limited(tenant: Tenant, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """A client with the operator's rights; the customer's namespace is not onboarded."""
    file = await operator_kubeconfig(tenant, tmp_path, tenant.client.server)
    async with await KubeClient.connect(file) as connected:
        yield connected


async def started(client: KubeClient, tenant: Tenant) -> TokenOperator:
    """Return an operator that was started now and has seen what it may see."""
    operator = TokenOperator(client, tenant.token_namespace)
    for kind in (kinds.API_TOKEN_REQUEST, kinds.LLM_INSTANCE):
        operator.world[kind].replace(await client.list(kind))
    for namespace in (tenant.token_namespace, tenant.namespace):
        try:
            listing = await client.list(kinds.SECRET, namespace)
        except ForbiddenError:
            continue
        operator.world[kinds.SECRET].replace(listing, namespace)
    return operator


async def pass_over(client: KubeClient, tenant: Tenant, name: str = REQUEST) -> None:
    """Start an operator and let it do one pass."""
    operator = await started(client, tenant)
    await operator.without_looking(tenant.namespace, name)


async def test_the_named_rights_suffice_for_a_whole_life(
    tenant: Tenant, limited: KubeClient
) -> None:
    await onboard(tenant)
    await tenant.order()
    await tenant.ask(description="first")
    await pass_over(limited, tenant)
    key = (await tenant.data())["OPENAI_API_KEY"]
    assert await tenant.opens(key)

    await tenant.write({"OPENAI_API_KEY": None})
    await pass_over(limited, tenant)
    assert await tenant.opens((await tenant.data())["OPENAI_API_KEY"])

    await tenant.change({"revoked": True})
    await pass_over(limited, tenant)
    assert await tenant.verifiers() == ()

    assert await (await started(limited, tenant)).sweeper.sweep() == 0
    await tenant.withdraw()
    await pass_over(limited, tenant)
    assert await tenant.request() is None
    assert {event["reason"] for event in await tenant.events()} >= {"KeyIssued", "Revoked"}


async def test_a_namespace_that_is_not_onboarded_is_told_so(
    tenant: Tenant, limited: KubeClient
) -> None:
    await tenant.order()
    await tenant.ask()

    await pass_over(limited, tenant)

    request = await tenant.request()
    assert request is not None
    (ready,) = request.status.conditions
    assert (request.status.phase, ready.reason) == ("Failed", "SecretsForbidden")
    assert "onboard" in ready.message
    assert await tenant.verifiers() == ()


async def test_no_key_dies_when_the_right_is_taken_away(
    tenant: Tenant, limited: KubeClient
) -> None:
    await onboard(tenant)
    await tenant.order()
    await tenant.ask()
    await pass_over(limited, tenant)
    key = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.client.delete(kinds.ROLE_BINDING, "operator-rights", tenant.namespace)
    await pass_over(limited, tenant)

    assert await tenant.opens(key)
    assert (await tenant.data(SECRET))["OPENAI_API_KEY"] == key
