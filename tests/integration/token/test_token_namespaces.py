"""Namespaces that refuse, that fill up and that go away; and many operators at the same time."""

import asyncio
import contextlib
from dataclasses import replace
from secrets import token_hex

import pytest

from eventually import eventually
from privatellm.errors import ConflictError, PrivateLLMError
from privatellm.kube import KubeClient, kinds
from token_crash import FragileClient
from token_objects import REQUEST, SECRET, Tenant
from token_operator import TokenOperator

pytestmark = pytest.mark.integration


async def test_a_quota_is_reported_and_no_key_is_issued_in_vain(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "no-secrets", "namespace": tenant.namespace},
        "spec": {"hard": {"secrets": "0"}},
    }
    await tenant.client.request(
        "POST", f"/api/v1/namespaces/{tenant.namespace}/resourcequotas", body=quota
    )
    await eventually(lambda: quota_is_counted(tenant), what="a quota that is enforced")
    await tenant.order()
    await tenant.ask()

    delay = await operator.reconcile(tenant.namespace, REQUEST)

    assert delay is not None
    request = await tenant.request()
    assert request is not None
    (ready,) = request.status.conditions
    assert (request.status.phase, ready.reason) == ("Failed", "SecretRefused")
    assert "exceeded quota" in ready.message
    assert not [path for _method, path in fragile.writes if tenant.token_namespace in path]


async def quota_is_counted(tenant: Tenant) -> bool:
    """Say whether the quota controller has seen the quota; before, nothing may be created."""
    path = f"/api/v1/namespaces/{tenant.namespace}/resourcequotas/no-secrets"
    return bool((await tenant.client.request("GET", path)).get("status", {}).get("hard"))


async def test_a_namespace_that_goes_away_takes_its_keys_along(
    client: KubeClient, tenant: Tenant, operator: TokenOperator
) -> None:
    doomed = replace(tenant, namespace=f"doomed-{token_hex(4)}")
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": doomed.namespace}}
    await client.create(kinds.NAMESPACE, manifest)
    await doomed.order()
    await doomed.ask()
    await operator.reconcile(doomed.namespace, REQUEST)
    assert len(await doomed.verifiers()) == 1

    await client.delete(kinds.NAMESPACE, doomed.namespace)

    async def gone() -> bool:
        # The namespace's deletion may mark the request between a look and a write.
        with contextlib.suppress(ConflictError):
            await operator.reconcile(doomed.namespace, REQUEST)
        return await client.get(kinds.NAMESPACE, doomed.namespace) is None

    await eventually(gone, within=60, what="the namespace's end")
    assert await doomed.verifiers() == ()


async def test_a_request_made_just_before_its_namespace_goes_away_is_no_error(
    client: KubeClient, tenant: Tenant, operator: TokenOperator
) -> None:
    doomed = replace(tenant, namespace=f"doomed-{token_hex(4)}")
    manifest = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": doomed.namespace},
    }
    await client.create(kinds.NAMESPACE, manifest)
    await doomed.order()
    await doomed.ask()
    # A foreign finalizer keeps the request while the namespace terminates around it.
    await client.patch(
        kinds.API_TOKEN_REQUEST,
        REQUEST,
        doomed.namespace,
        {"metadata": {"finalizers": ["example.com/hold"]}},
    )
    await client.delete(kinds.NAMESPACE, doomed.namespace)

    async def passed() -> bool:
        try:
            await operator.reconcile(doomed.namespace, REQUEST)
        except ConflictError:
            return False  # The namespace's deletion marked the request meanwhile.
        return True

    await eventually(passed, what="a pass in a namespace that goes away")

    assert await doomed.verifiers() == ()
    assert await doomed.secret() is None
    await doomed.strip_finalizers()


async def test_two_operators_at_once_agree_on_one_key(tenant: Tenant, client: KubeClient) -> None:
    """A lease makes this impossible, but leases can be lost; the reservation decides then."""
    await tenant.order()
    await tenant.ask()
    operators = [TokenOperator(client, tenant.token_namespace) for _ in range(4)]

    async def settled() -> bool:
        outcomes = await asyncio.gather(
            *(operator.reconcile(tenant.namespace, REQUEST) for operator in operators),
            return_exceptions=True,
        )
        unexpected = [o for o in outcomes if o is not None and not isinstance(o, PrivateLLMError)]
        assert unexpected == []
        return outcomes == [None] * len(operators)

    await eventually(settled, what="four operators that agree")

    (_verifier,) = await tenant.verifiers()
    assert await tenant.opens((await tenant.data(SECRET))["OPENAI_API_KEY"])


async def test_a_request_that_somebody_else_wrote_meanwhile_gets_no_key_in_this_pass(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.look()
    await tenant.change({"description": "changed"})

    with pytest.raises(ConflictError):
        await operator.without_looking(tenant.namespace, REQUEST)

    assert await tenant.verifiers() == ()
