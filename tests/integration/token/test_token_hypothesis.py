"""Any sequence of what a customer may write ends without a key that they chose."""

from collections.abc import Awaitable, Callable
from secrets import token_hex
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privatellm.errors import PrivateLLMError
from privatellm.kube import kinds
from privatellm.tokens import Token
from token_objects import Tenant
from token_operator import TokenOperator

pytestmark = [pytest.mark.deep, pytest.mark.integration]

CHOSEN = Token("aaaaaaaaaaaa", "A" * 43).reveal()
"""The key that the customer would like to have."""

Write = Callable[[Tenant, str, dict[str, Any]], Awaitable[None]]


def into_the_secret(**data: str | None) -> Write:
    """Write into the request's Secret."""

    async def write(tenant: Tenant, name: str, _seen: dict[str, Any]) -> None:
        await tenant.write(data, name=f"{name}-token")

    return write


def into_the_metadata(kind: kinds.Kind, **metadata: Any) -> Write:
    """Write labels, annotations or owners of the request or its Secret."""

    async def write(tenant: Tenant, name: str, _seen: dict[str, Any]) -> None:
        target = f"{name}-token" if kind is kinds.SECRET else name
        await tenant.client.patch(kind, target, tenant.namespace, {"metadata": metadata})

    return write


def into_the_status(**status: Any) -> Write:
    """Write the request's status."""

    async def write(tenant: Tenant, name: str, _seen: dict[str, Any]) -> None:
        await tenant.client.patch(
            kinds.API_TOKEN_REQUEST,
            name,
            tenant.namespace,
            {"status": status},
            subresource="status",
        )

    return write


async def an_old_key_back(tenant: Tenant, name: str, seen: dict[str, Any]) -> None:
    """Write a key back that was in the Secret before."""
    await tenant.write({"OPENAI_API_KEY": seen["keys"][0]}, name=f"{name}-token")


async def a_secret_of_ones_own(tenant: Tenant, name: str, seen: dict[str, Any]) -> None:
    """Put a Secret of one's own in the place, with our owner in it."""
    await tenant.client.delete(kinds.SECRET, f"{name}-token", tenant.namespace)
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{name}-token",
            "namespace": tenant.namespace,
            "labels": seen["labels"],
            "ownerReferences": seen["owners"],
        },
        "stringData": {"OPENAI_API_KEY": CHOSEN},
    }
    await tenant.client.create(kinds.SECRET, manifest)


async def another_instance(tenant: Tenant, name: str, _seen: dict[str, Any]) -> None:
    """Create the instance anew."""
    await tenant.cancel(name=name)
    await tenant.order(name=name)


async def nothing(_tenant: Tenant, _name: str, _seen: dict[str, Any]) -> None:
    """Only let time pass."""


WRITES: tuple[Write, ...] = (
    into_the_secret(OPENAI_API_KEY=CHOSEN),
    into_the_secret(OPENAI_API_KEY=None),
    into_the_secret(OPENAI_API_KEY="x", OPENAI_BASE_URL="https://evil.example"),
    into_the_metadata(kinds.SECRET, labels={"app.kubernetes.io/managed-by": None}),
    into_the_metadata(kinds.SECRET, ownerReferences=[]),
    into_the_metadata(kinds.API_TOKEN_REQUEST, finalizers=[]),
    into_the_metadata(kinds.API_TOKEN_REQUEST, labels={"llm.privatellms.msp/request-uid": "other"}),
    into_the_status(keyID="aaaaaaaaaaaa"),
    into_the_status(keyID=None, phase="Ready", conditions=[]),
    an_old_key_back,
    a_secret_of_ones_own,
    another_instance,
    nothing,
)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(writes=st.lists(st.sampled_from(WRITES), min_size=1, max_size=5))
async def test_no_sequence_of_writes_makes_a_chosen_key_work(
    tenant: Tenant, operator: TokenOperator, writes: list[Write]
) -> None:
    name = f"app-{token_hex(4)}"
    await tenant.order(name=name)
    await tenant.ask(name=name, instanceName=name)
    await settle(operator, tenant, name)
    secret = await tenant.secret(f"{name}-token")
    assert secret is not None
    seen = {
        "keys": [(await tenant.data(f"{name}-token"))["OPENAI_API_KEY"]],
        "labels": secret["metadata"]["labels"],
        "owners": secret["metadata"]["ownerReferences"],
    }

    for write in writes:
        try:
            await write(tenant, name, seen)
        except PrivateLLMError:
            continue  # The customer may not, or there is nothing to write to any more.
        await settle(operator, tenant, name)
        assert not await tenant.opens(CHOSEN)

    request = await tenant.request(name)
    assert request is not None
    verifiers = [v for v in await tenant.verifiers() if v.request_uid == request.metadata.uid]
    key = (await tenant.data(f"{name}-token")).get("OPENAI_API_KEY")
    # A key that works is in the customer's Secret, and the only one.
    assert len(verifiers) <= 1
    assert not verifiers or (key is not None and await tenant.opens(key))


async def settle(operator: TokenOperator, tenant: Tenant, name: str) -> None:
    """Let the operator look until it has nothing to do."""
    for _ in range(2):
        await operator.reconcile(tenant.namespace, name)
