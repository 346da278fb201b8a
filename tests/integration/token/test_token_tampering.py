"""What a customer may write never becomes a key, and never takes one from somebody else."""

from base64 import b64encode
from typing import Any

import pytest

from privatellm import labels
from privatellm.kube import kinds
from privatellm.tokens import Token
from privatellm.verifiers import Verifier
from token_crash import FragileClient
from token_objects import REQUEST, SECRET, Tenant
from token_operator import TokenOperator

pytestmark = pytest.mark.integration


@pytest.fixture
async def issued(tenant: Tenant, operator: TokenOperator) -> str:
    """The key of a request that is ready."""
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    return (await tenant.data())["OPENAI_API_KEY"]


def foreign_secret(tenant: Tenant, **fields: Any) -> dict[str, Any]:
    """Return a Secret of the request's name that the customer made."""
    key = b64encode(Token.mint().reveal().encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": tenant.namespace},
        "data": {"OPENAI_API_KEY": key},
        **fields,
    }


async def test_a_foreign_secret_of_the_name_is_reported_and_never_touched(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    before = await tenant.client.create(kinds.SECRET, foreign_secret(tenant))

    delay = await operator.reconcile(tenant.namespace, REQUEST)

    assert delay is not None
    assert await tenant.secret() == before
    assert await tenant.verifiers() == ()
    request = await tenant.request()
    assert request is not None
    assert (request.status.phase, request.status.secret_name) == ("Failed", None)
    assert request.status.conditions[0].reason == "SecretConflict"


async def test_the_conflict_ends_when_the_foreign_secret_does(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await tenant.client.create(kinds.SECRET, foreign_secret(tenant))
    await operator.reconcile(tenant.namespace, REQUEST)

    await tenant.client.delete(kinds.SECRET, SECRET, tenant.namespace)
    await operator.reconcile(tenant.namespace, REQUEST)

    assert await tenant.opens((await tenant.data())["OPENAI_API_KEY"])


async def test_a_secret_that_claims_our_owner_gets_a_fresh_key_over_its_own(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    request = await tenant.ask()
    owner = {
        "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
        "kind": kinds.API_TOKEN_REQUEST.name,
        "name": REQUEST,
        "uid": request["metadata"]["uid"],
    }
    secret = foreign_secret(tenant)
    secret["metadata"]["ownerReferences"] = [owner]
    await tenant.client.create(kinds.SECRET, secret)
    chosen = (await tenant.data())["OPENAI_API_KEY"]

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(chosen)
    assert await tenant.opens((await tenant.data())["OPENAI_API_KEY"])


async def test_a_secret_that_was_made_immutable_is_a_conflict(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.client.patch(kinds.SECRET, SECRET, tenant.namespace, {"immutable": True})
    await tenant.cancel()
    await tenant.order()

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(issued)
    request = await tenant.request()
    assert request is not None
    assert request.status.conditions[0].reason == "SecretConflict"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"OPENAI_API_KEY": None}, id="key removed"),
        pytest.param({"OPENAI_API_KEY": "hunter2"}, id="key replaced by nonsense"),
        pytest.param({"OPENAI_API_KEY": Token.mint().reveal()}, id="key replaced by a made-up one"),
    ],
)
async def test_a_key_that_left_the_secret_is_ended_and_replaced(
    tenant: Tenant, operator: TokenOperator, issued: str, damage: dict[str, str | None]
) -> None:
    await tenant.write(damage)

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(issued)
    key = (await tenant.data())["OPENAI_API_KEY"]
    assert key not in (issued, damage["OPENAI_API_KEY"])
    assert await tenant.opens(key)
    assert len(await tenant.verifiers()) == 1


async def test_a_deleted_secret_comes_back_with_a_new_key(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.client.delete(kinds.SECRET, SECRET, tenant.namespace)

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(issued)
    assert await tenant.opens((await tenant.data())["OPENAI_API_KEY"])


async def test_the_known_key_id_with_a_chosen_secret_part_opens_nothing(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    chosen = Token(Token.parse(issued).key_id, "A" * 43).reveal()
    await tenant.write({"OPENAI_API_KEY": chosen})

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(chosen)
    assert not await tenant.opens(issued)


async def test_the_key_of_another_request_does_not_count(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.ask(name="other")
    await operator.reconcile(tenant.namespace, "other")
    others = (await tenant.data("other-token"))["OPENAI_API_KEY"]

    await tenant.write({"OPENAI_API_KEY": others})
    await operator.reconcile(tenant.namespace, REQUEST)

    assert (await tenant.data())["OPENAI_API_KEY"] not in (issued, others)
    assert await tenant.opens(others)
    assert len(await tenant.verifiers()) == 2


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"keyID": "aaaaaaaaaaaa"}, id="another key id"),
        pytest.param({"keyID": "../../evil"}, id="a key id that is none"),
        pytest.param({"keyID": None, "phase": None, "conditions": None}, id="wiped"),
        pytest.param({"phase": "Expired", "issuedAt": "x", "expiresAt": "y"}, id="nonsense"),
    ],
)
async def test_a_written_status_is_corrected_and_the_key_lives_on(
    tenant: Tenant, operator: TokenOperator, issued: str, status: dict[str, Any]
) -> None:
    before = await tenant.request()
    await tenant.client.patch(
        kinds.API_TOKEN_REQUEST,
        REQUEST,
        tenant.namespace,
        {"status": status},
        subresource="status",
    )

    await operator.reconcile(tenant.namespace, REQUEST)

    after = await tenant.request()
    assert before is not None
    assert after is not None
    assert (after.status.key_id, after.status.phase) == (before.status.key_id, before.status.phase)
    assert (after.status.issued_at, after.status.expires_at) == (before.status.issued_at, None)
    assert (await tenant.data())["OPENAI_API_KEY"] == issued
    assert await tenant.opens(issued)


async def test_the_rest_of_the_secret_is_mended_and_what_others_wrote_stays(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    patch = {
        "metadata": {
            "labels": {labels.MANAGED_BY: None, "team": "blue"},
            "annotations": {"note": "mine"},
        }
    }
    await tenant.client.patch(kinds.SECRET, SECRET, tenant.namespace, patch)
    await tenant.write({"OPENAI_BASE_URL": "https://evil.example", "EXTRA": "mine"})

    await operator.reconcile(tenant.namespace, REQUEST)

    data, secret = await tenant.data(), await tenant.secret()
    assert secret is not None
    assert data["OPENAI_API_KEY"] == issued
    assert data["OPENAI_BASE_URL"].startswith("https://llm.example.com/llm/")
    assert data["EXTRA"] == "mine"
    found = secret["metadata"]["labels"]
    assert (found[labels.MANAGED_BY], found["team"]) == (labels.MANAGED_BY_OPERATOR, "blue")
    assert secret["metadata"]["annotations"]["note"] == "mine"


async def test_a_verifier_in_the_customers_namespace_is_none(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    request = await tenant.request()
    (genuine,) = await tenant.verifiers()
    assert request is not None
    made_up = genuine.to_secret(tenant.namespace)
    made_up["metadata"]["name"] = "v-aaaaaaaaaaaa"
    await tenant.client.create(kinds.SECRET, made_up)

    await operator.reconcile(tenant.namespace, REQUEST)

    assert await tenant.verifiers() == (genuine,)
    assert (await tenant.data())["OPENAI_API_KEY"] == issued


async def test_a_planted_secret_cannot_make_the_operator_remove_a_victims_verifier(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    """The customer names a Secret like the victim's verifier and lets their own request end."""
    (victim,) = await tenant.verifiers()
    await tenant.ask(name="attacker")
    await operator.reconcile(tenant.namespace, "attacker")
    attacker = await tenant.request("attacker")
    assert attacker is not None
    planted = victim.to_secret(tenant.namespace)
    planted["metadata"]["labels"][labels.REQUEST_UID] = attacker.metadata.uid
    await tenant.client.create(kinds.SECRET, planted)

    await operator.reconcile(tenant.namespace, "attacker")
    await tenant.strip_finalizers(name="attacker")
    await tenant.withdraw(name="attacker")
    await operator.reconcile(tenant.namespace, "attacker")

    assert await tenant.verifiers() == (victim,)
    assert await tenant.opens(issued)


async def test_a_damaged_verifier_is_removed(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    (genuine,) = await tenant.verifiers()
    damaged = genuine.to_secret(tenant.token_namespace)
    damaged["metadata"]["name"] = "v-aaaaaaaaaaaa"
    await tenant.client.create(kinds.SECRET, damaged)

    await operator.reconcile(tenant.namespace, REQUEST)

    listing = await tenant.client.list(kinds.SECRET, tenant.token_namespace)
    assert [Verifier.from_secret(secret) for secret in listing.items] == [genuine]
    assert await tenant.opens(issued)


async def test_a_removed_verifier_means_a_new_key(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    (genuine,) = await tenant.verifiers()
    await tenant.client.delete(kinds.SECRET, f"v-{genuine.key_id}", tenant.token_namespace)

    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(issued)
    assert await tenant.opens((await tenant.data())["OPENAI_API_KEY"])


async def test_a_stripped_finalizer_comes_back(
    tenant: Tenant, operator: TokenOperator, issued: str
) -> None:
    await tenant.strip_finalizers()

    await operator.reconcile(tenant.namespace, REQUEST)

    request = await tenant.request()
    assert request is not None
    assert request.metadata.finalizers == (labels.REQUEST_FINALIZER,)
    assert (await tenant.data())["OPENAI_API_KEY"] == issued


async def test_no_request_of_the_operator_but_the_delivery_carries_a_plaintext(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    secret_part = Token.parse((await tenant.data())["OPENAI_API_KEY"]).secret

    request = await tenant.client.get(kinds.API_TOKEN_REQUEST, REQUEST, tenant.namespace)
    stored = await tenant.client.list(kinds.SECRET, tenant.token_namespace)
    events = await tenant.events()

    assert secret_part not in repr((request, stored, events))
