"""The life of a key on a real API server, from the first pass to the last."""

from datetime import timedelta

import pytest

from privatellm import labels
from privatellm.api.meta import format_time
from privatellm.conditions import find
from privatellm.kube import kinds
from privatellm.names import slug_of
from token_crash import FragileClient
from token_objects import INSTANCE, REQUEST, SECRET, Tenant
from token_operator import HOST, TokenOperator

pytestmark = pytest.mark.integration


async def phase_and_reason(tenant: Tenant) -> tuple[str | None, str]:
    """Return what the status says in two words."""
    request = await tenant.request()
    assert request is not None
    ready = find(request.status.conditions, "Ready")
    assert ready is not None
    return request.status.phase, ready.reason


async def test_a_request_gets_a_key_that_opens_its_instance(
    tenant: Tenant, operator: TokenOperator
) -> None:
    instance = await tenant.order()
    await tenant.ask(description="the app")

    assert await operator.reconcile(tenant.namespace, REQUEST) is None

    slug = slug_of(instance["metadata"]["uid"])
    data = await tenant.data()
    assert data["OPENAI_API_URL"] == f"https://{HOST}/llm/{slug}"
    assert data["OPENAI_BASE_URL"] == f"https://{HOST}/llm/{slug}/v1"
    assert await tenant.opens(data["OPENAI_API_KEY"])
    (verifier,) = await tenant.verifiers()
    request = await tenant.request()
    assert request is not None
    assert request.metadata.finalizers == (labels.REQUEST_FINALIZER,)
    assert (verifier.slug, verifier.request_uid) == (slug, request.metadata.uid)
    assert request.status.key_id == verifier.key_id
    assert request.status.secret_name == SECRET
    assert request.status.issued_at == format_time(verifier.not_before)
    assert await phase_and_reason(tenant) == ("Ready", "KeyReady")


async def test_the_edge_knows_a_key_before_the_customer_and_the_request_before_both(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    await tenant.order()
    await tenant.ask()

    await operator.reconcile(tenant.namespace, REQUEST)

    written = [(method, path.rsplit("/", 2)[-2:]) for method, path in fragile.writes]
    assert written[:4] == [
        ("PATCH", ["apitokenrequests", REQUEST]),
        ("PUT", [REQUEST, "status"]),
        ("POST", [tenant.token_namespace, "secrets"]),
        ("POST", [tenant.namespace, "secrets"]),
    ]


async def test_the_secret_belongs_to_the_request_and_is_found_by_the_chat_ui(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask(description="the app")
    await operator.reconcile(tenant.namespace, REQUEST)

    secret, request = await tenant.secret(), await tenant.request()

    assert secret is not None
    assert request is not None
    metadata = secret["metadata"]
    assert metadata["labels"]["apeirora.eu/llm-api-compatibility"] == "openai"
    assert metadata["labels"]["llm.privatellms.msp/instance"] == INSTANCE
    assert metadata["labels"]["llm.privatellms.msp/apitokenrequest"] == REQUEST
    assert metadata["annotations"]["llm.privatellms.msp/description"] == "the app"
    (owner,) = metadata["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (request.metadata.uid, True)


async def test_a_settled_world_costs_no_request_at_all(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    await tenant.order()
    await tenant.ask(name="one")
    await tenant.ask(name="two", expiresAfter="24h", rotation={"every": "2h", "overlap": "1h"})
    for name in ("one", "two"):
        await operator.reconcile(tenant.namespace, name)
    await operator.look()
    fragile.forget()

    for name in ("one", "two"):
        await operator.without_looking(tenant.namespace, name)

    assert fragile.sent == []


async def test_a_restarted_operator_writes_nothing_to_a_settled_world(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    await tenant.order()
    await tenant.ask(expiresAfter="1.5h")
    await operator.reconcile(tenant.namespace, REQUEST)
    fragile.forget()

    await TokenOperator(fragile, tenant.token_namespace).reconcile(tenant.namespace, REQUEST)

    assert fragile.writes == []


async def test_a_key_survives_an_operator_that_has_not_seen_its_verifier_yet(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    """Kinds are listed one after another when an operator starts; no key may die of the order."""
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    fragile.forget()
    started = TokenOperator(fragile, tenant.token_namespace)
    request = await tenant.client.get(kinds.API_TOKEN_REQUEST, REQUEST, tenant.namespace)
    assert request is not None
    started.world[kinds.API_TOKEN_REQUEST].put(request)

    await started.without_looking(tenant.namespace, REQUEST)

    assert fragile.writes == []


async def test_the_first_ready_waits_for_the_instance_and_then_stays(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order(phase="Provisioning")
    await tenant.ask()

    await operator.reconcile(tenant.namespace, REQUEST)
    before = await phase_and_reason(tenant)
    await tenant.rate("Ready")
    await operator.reconcile(tenant.namespace, REQUEST)
    ready = await phase_and_reason(tenant)
    await tenant.rate("Degraded")
    await operator.reconcile(tenant.namespace, REQUEST)

    assert before == ("Pending", "InstanceNotReady")
    assert ready == ("Ready", "KeyReady")
    assert await phase_and_reason(tenant) == ("Ready", "KeyReady")


async def test_a_key_for_a_stopped_instance_is_ready(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order(phase="Stopped")
    await tenant.ask()

    await operator.reconcile(tenant.namespace, REQUEST)

    assert await phase_and_reason(tenant) == ("Ready", "KeyReady")


async def test_without_an_instance_there_is_neither_key_nor_secret(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.ask()

    delay = await operator.reconcile(tenant.namespace, REQUEST)

    assert delay is not None
    assert await phase_and_reason(tenant) == ("Pending", "InstanceNotFound")
    assert await tenant.secret() is None
    assert await tenant.verifiers() == ()


async def test_a_deleted_instance_takes_its_keys_along_and_a_new_one_gets_new_keys(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    first, secret = await tenant.data(), await tenant.secret()

    await tenant.cancel()
    await operator.reconcile(tenant.namespace, REQUEST)

    assert await phase_and_reason(tenant) == ("Pending", "InstanceNotFound")
    assert await tenant.verifiers() == ()
    assert "OPENAI_API_KEY" not in await tenant.data()

    await tenant.order()
    await operator.reconcile(tenant.namespace, REQUEST)

    second, secret_after = await tenant.data(), await tenant.secret()
    assert secret is not None
    assert secret_after is not None
    assert secret["metadata"]["uid"] == secret_after["metadata"]["uid"]
    assert await tenant.opens(second["OPENAI_API_KEY"])
    assert not await tenant.opens(first["OPENAI_API_KEY"])
    assert first["OPENAI_BASE_URL"] != second["OPENAI_BASE_URL"]


async def test_an_instance_created_anew_between_two_passes_gets_a_new_key(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    before = await tenant.data()

    await tenant.cancel()
    instance = await tenant.order(phase="Provisioning")
    await operator.reconcile(tenant.namespace, REQUEST)

    after = await tenant.data()
    (verifier,) = await tenant.verifiers()
    assert verifier.instance_uid == instance["metadata"]["uid"]
    assert not await tenant.opens(before["OPENAI_API_KEY"])
    assert await tenant.opens(after["OPENAI_API_KEY"])


async def test_revoking_ends_the_key_for_good(tenant: Tenant, operator: TokenOperator) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    key = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.change({"revoked": True})
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(key)
    assert await phase_and_reason(tenant) == ("Revoked", "Revoked")
    secret = await tenant.secret()
    assert secret is not None
    assert "OPENAI_API_KEY" not in secret["data"]
    assert "apeirora.eu/llm-api-compatibility" not in secret["metadata"]["labels"]


async def test_a_key_written_back_after_revocation_opens_nothing(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    key = (await tenant.data())["OPENAI_API_KEY"]
    await tenant.change({"revoked": True})
    await operator.reconcile(tenant.namespace, REQUEST)

    await tenant.write({"OPENAI_API_KEY": key})
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(key)
    assert "OPENAI_API_KEY" not in await tenant.data()


async def test_a_request_expires_on_time(tenant: Tenant, operator: TokenOperator) -> None:
    await tenant.order()
    created = await tenant.ask(expiresAfter="1h")

    delay = await operator.reconcile(tenant.namespace, REQUEST)

    assert delay is not None
    assert 3590 < delay <= 3600
    key = (await tenant.data())["OPENAI_API_KEY"]
    (verifier,) = await tenant.verifiers()
    request = await tenant.request()
    assert request is not None
    assert request.metadata.creation_timestamp is not None
    end = request.metadata.creation_timestamp + timedelta(hours=1)
    assert (verifier.not_after, request.status.expires_at) == (end, format_time(end))
    assert created["metadata"]["uid"] == request.metadata.uid

    operator.clock.ahead = timedelta(hours=1, seconds=1)
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(key)
    assert await phase_and_reason(tenant) == ("Expired", "Expired")
    assert "OPENAI_API_KEY" not in await tenant.data()


@pytest.mark.parametrize("asked", [None, "24h"])
async def test_the_platform_limits_the_life_of_a_key(
    tenant: Tenant, fragile: FragileClient, asked: str | None
) -> None:
    await tenant.order()
    await tenant.ask(**({"expiresAfter": asked} if asked else {}))
    operator = TokenOperator(fragile, tenant.token_namespace, longest_token_life="2h")

    await operator.reconcile(tenant.namespace, REQUEST)

    (verifier,) = await tenant.verifiers()
    request = await tenant.request()
    assert request is not None
    assert request.metadata.creation_timestamp is not None
    assert verifier.not_after == request.metadata.creation_timestamp + timedelta(hours=2)


async def test_a_longer_life_brings_a_new_key_and_keeps_the_old_one_to_its_end(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask(expiresAfter="1h")
    await operator.reconcile(tenant.namespace, REQUEST)
    old = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.change({"expiresAfter": "3h"})
    delay = await operator.reconcile(tenant.namespace, REQUEST)

    new = (await tenant.data())["OPENAI_API_KEY"]
    assert new != old
    assert await tenant.opens(old)
    assert await tenant.opens(new)
    assert delay is not None
    assert delay <= 3600

    operator.clock.ahead = timedelta(hours=1, seconds=1)
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(old)
    assert await tenant.opens(new)


async def test_rotation_overlaps_and_keeps_two_keys_at_most(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask(rotation={"every": "2h", "overlap": "30m"})
    delay = await operator.reconcile(tenant.namespace, REQUEST)
    assert delay is not None
    assert delay == 3600  # Time matters, so a pass is due at least hourly.
    keys = [(await tenant.data())["OPENAI_API_KEY"]]

    for hours in (2.1, 4.2):
        operator.clock.ahead = timedelta(hours=hours)
        delay = await operator.reconcile(tenant.namespace, REQUEST)
        keys.append((await tenant.data())["OPENAI_API_KEY"])
        assert delay is not None
        assert 1790 < delay <= 1800
        assert len(await tenant.verifiers()) == 2
        assert [await tenant.opens(key) for key in keys[-2:]] == [True, True]

    operator.clock.ahead = timedelta(hours=4.8)
    await operator.reconcile(tenant.namespace, REQUEST)

    assert [await tenant.opens(key) for key in keys] == [False, False, True]
    assert await phase_and_reason(tenant) == ("Ready", "KeyReady")


async def test_verifiers_go_before_the_finalizer_does(
    tenant: Tenant, operator: TokenOperator, fragile: FragileClient
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    key = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.withdraw()
    fragile.forget()
    await operator.reconcile(tenant.namespace, REQUEST)

    assert [method for method, _path in fragile.writes] == ["DELETE", "PATCH"]
    assert "/secrets/v-" in fragile.writes[0][1]
    assert "/apitokenrequests/" in fragile.writes[1][1]
    assert not await tenant.opens(key)
    assert await tenant.request() is None


async def test_a_request_whose_finalizer_was_stripped_still_loses_its_key(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    key = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.strip_finalizers()
    await tenant.withdraw()
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(key)


async def test_a_request_created_anew_ends_the_keys_of_the_one_before(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.order()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    key = (await tenant.data())["OPENAI_API_KEY"]

    await tenant.strip_finalizers()
    await tenant.withdraw()
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(key)


async def test_events_tell_what_happened_to_the_key(
    tenant: Tenant, operator: TokenOperator
) -> None:
    await tenant.ask()
    await operator.reconcile(tenant.namespace, REQUEST)
    await tenant.order()
    await operator.reconcile(tenant.namespace, REQUEST)
    await tenant.change({"revoked": True})
    await operator.reconcile(tenant.namespace, REQUEST)

    events = await tenant.events()

    assert [event["reason"] for event in events] == [
        "InstanceNotFound",
        "KeyIssued",
        "KeyReady",
        "Revoked",
    ]
    assert [event["type"] for event in events] == ["Warning", "Normal", "Normal", "Normal"]
    assert all(event["regarding"]["name"] == REQUEST for event in events)
