"""Nobody but the operator writes what the edge and the customers believe."""

from collections.abc import AsyncIterator

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, assert_refused_by, creating, patching
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm.verifiers import SECRET_TYPE
from privatellm_local.platform.facts import TOKEN_NAMESPACE

pytestmark = pytest.mark.integration


def believing(what: str, kind: Kind, **status: str) -> Attempt:
    """Return the attempt to write something into the status of the order or the request."""
    name = tenants.ORDER if kind is kinds.LLM_INSTANCE else tenants.REQUEST
    return patching(what, kind, name, {"status": status}, subresource="status")


STATUSES = (
    believing("an endpoint of one's own", kinds.LLM_INSTANCE, endpoint="https://thief.example/llm"),
    believing("a phase of one's own", kinds.LLM_INSTANCE, phase="Ready"),
    believing("a key id of one's own", kinds.API_TOKEN_REQUEST, keyID="abcdefghijkl"),
    believing("a request that is ready", kinds.API_TOKEN_REQUEST, phase="Ready"),
    believing(
        "a key that was never used", kinds.API_TOKEN_REQUEST, lastUsedAt="2020-01-01T00:00:00Z"
    ),
)


@pytest.fixture
async def keyholder(
    client: KubeClient, tenant: KubeClient, scene: str, role: str
) -> AsyncIterator[KubeClient]:
    """A tenant to whom somebody gave the stock role in the token namespace too, by mistake."""
    account = {"metadata": tenants.metadata(scene, role)}
    binding = tenants.role_binding(TOKEN_NAMESPACE, "ClusterRole", role, account)
    await client.create(kinds.ROLE_BINDING, binding)
    yield tenant
    await client.delete(kinds.ROLE_BINDING, binding["metadata"]["name"], TOKEN_NAMESPACE)


@pytest.mark.parametrize("attempt", STATUSES, ids=str)
async def test_a_tenant_writes_the_status_of_neither_its_order_nor_its_request(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Even a role that grants the status subresource does not help."""
    await assert_refused_by("statuses", attempt, tenant, scene)
    await attempt.send(client, scene)


async def test_a_tenant_prepares_no_verifier_in_its_namespace(
    client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """The Secret type is reserved everywhere."""
    attempt = creating(
        "", kinds.SECRET, lambda ns: tenants.secret(ns, "v-abcdefghijkl", {}, SECRET_TYPE)
    )

    await assert_refused_by("verifiers", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("secret_type", [SECRET_TYPE, "Opaque"])
async def test_nobody_writes_secrets_into_the_token_namespace(
    secret_type: str, client: KubeClient, keyholder: KubeClient, scene: str
) -> None:
    """Rights in the token namespace, given by mistake, do not make verifiers."""
    attempt = creating(
        "",
        kinds.SECRET,
        lambda _: tenants.secret(TOKEN_NAMESPACE, "v-abcdefghijkl", {}, secret_type),
    )

    await assert_refused_by("verifiers", attempt, keyholder, scene)
    await attempt.send(client, scene)
