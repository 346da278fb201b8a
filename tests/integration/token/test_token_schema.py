"""What the API server itself refuses, so that no pass ever meets it."""

from typing import Any

import pytest

from privatellm.durations import LONGEST, parse_duration
from privatellm.errors import RejectedError
from token_objects import Tenant

pytestmark = pytest.mark.integration

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no instance": ({"instanceName": ""}, "instanceName"),
    "an illegal instance name": ({"instanceName": "-chat"}, "instanceName"),
    "a description too long": ({"description": "x" * 257}, "description"),
    "days": ({"expiresAfter": "30d"}, "expiresAfter"),
    "a negative life": ({"expiresAfter": "-1h"}, "expiresAfter"),
    "no life at all": ({"expiresAfter": "0s"}, "longer than zero"),
    "a life that Go cannot count": ({"expiresAfter": "2562048h"}, "expiresAfter"),
    "rotation by the minute": ({"rotation": {"every": "59m"}}, "1h or more"),
    "an overlap that never ends": (
        {"rotation": {"every": "2h", "overlap": "121m"}},
        "not be longer",
    ),
    "rotation without a period": ({"rotation": {}}, "every"),
}


@pytest.mark.parametrize(("spec", "told"), REFUSED.values(), ids=REFUSED)
async def test_a_request_that_makes_no_sense_is_refused_in_words(
    tenant: Tenant, spec: dict[str, Any], told: str
) -> None:
    with pytest.raises(RejectedError, match=told):
        await tenant.ask(**spec)


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing but the instance": {},
    "the longest life": {"expiresAfter": "2562047h"},
    "fractions": {"expiresAfter": "1.5h0.25s"},
    "rotation with a full overlap": {"rotation": {"every": "1h", "overlap": "60m"}},
    "the longest description": {"description": "x" * 256},
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
async def test_a_request_that_makes_sense_is_stored(tenant: Tenant, spec: dict[str, Any]) -> None:
    stored = await tenant.ask(**spec)

    assert stored["spec"]["revoked"] is False


async def test_what_the_api_server_counts_the_operator_counts_too(tenant: Tenant) -> None:
    stored = await tenant.ask(expiresAfter="2562047h47m16s")

    assert parse_duration(stored["spec"]["expiresAfter"]) <= LONGEST


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"instanceName": "other"}, "immutable", id="another instance"),
        pytest.param({"revoked": False}, "stays revoked", id="revocation taken back"),
        pytest.param({"revoked": None}, "stays revoked", id="revocation left out"),
    ],
)
async def test_what_cannot_be_taken_back_is_refused(
    tenant: Tenant, change: dict[str, Any], told: str
) -> None:
    await tenant.ask(revoked=True)

    with pytest.raises(RejectedError, match=told):
        await tenant.change(change)


async def test_a_revoked_request_can_still_be_described(tenant: Tenant) -> None:
    await tenant.ask(revoked=True)

    await tenant.change({"description": "ended in May"})

    request = await tenant.request()
    assert request is not None
    assert request.spec.description == "ended in May"
