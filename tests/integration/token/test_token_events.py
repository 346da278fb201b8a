"""What a customer is told about a key: one event for each turn of its life, and none twice."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from privatellm.kube import kinds
from token_objects import REQUEST, SECRET, Tenant
from token_operator import TokenOperator

pytestmark = pytest.mark.integration

Act = Callable[[Tenant, TokenOperator], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn in the life of a key that is ready.

    Attributes:
        act: What happens.
        told: The reasons of the events that the next passes write.
        warning: Whether somebody has to act.
        spec: Of the request.
    """

    act: Act
    told: tuple[str, ...]
    warning: bool = False
    spec: tuple[tuple[str, Any], ...] = ()

    @override
    def __str__(self) -> str:
        """Name the test case."""
        return self.act.__name__


async def the_request_is_revoked(tenant: Tenant, _operator: TokenOperator) -> None:
    """By its customer."""
    await tenant.change({"revoked": True})


async def the_key_vanishes(tenant: Tenant, _operator: TokenOperator) -> None:
    """From the customer's Secret."""
    await tenant.write({"OPENAI_API_KEY": None})


async def the_instance_is_created_anew(tenant: Tenant, _operator: TokenOperator) -> None:
    """Under the same name."""
    await tenant.cancel()
    await tenant.order()


async def the_instance_goes(tenant: Tenant, _operator: TokenOperator) -> None:
    """And none comes after it."""
    await tenant.cancel()


async def the_life_is_prolonged(tenant: Tenant, _operator: TokenOperator) -> None:
    """Beyond the end that the key has."""
    await tenant.change({"expiresAfter": "9h"})


async def the_secret_is_exchanged(tenant: Tenant, _operator: TokenOperator) -> None:
    """For one of the customer's own."""
    await tenant.client.delete(kinds.SECRET, SECRET, tenant.namespace)
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": tenant.namespace},
    }
    await tenant.client.create(kinds.SECRET, manifest)


async def time_passes(_tenant: Tenant, operator: TokenOperator) -> None:
    """Two hours and a half of it."""
    operator.clock.ahead = timedelta(hours=2.5)


async def the_request_is_deleted(tenant: Tenant, _operator: TokenOperator) -> None:
    """Nobody finds the events of what is gone."""
    await tenant.withdraw()


async def the_request_is_kept_by_others(tenant: Tenant, _operator: TokenOperator) -> None:
    """It stays until they let it go, and its key does not."""
    request = await tenant.request()
    assert request is not None
    kept = [*request.metadata.finalizers, "example.com/hold"]
    patch = {"metadata": {"finalizers": kept}}
    await tenant.client.patch(kinds.API_TOKEN_REQUEST, REQUEST, tenant.namespace, patch)
    await tenant.withdraw()


ROTATION = (("rotation", {"every": "2h"}),)
OVERLAP = (("rotation", {"every": "2h", "overlap": "1h"}),)

TURNS = (
    Turn(the_request_is_revoked, ("Revoked",)),
    Turn(the_key_vanishes, ("KeyReplaced", "KeyReady")),
    Turn(the_instance_is_created_anew, ("KeyReissued", "KeyReady")),
    Turn(the_instance_goes, ("InstanceNotFound",), warning=True),
    Turn(the_life_is_prolonged, ("KeyExtended", "KeyReady"), spec=(("expiresAfter", "2h"),)),
    Turn(the_secret_is_exchanged, ("SecretConflict",), warning=True),
    Turn(time_passes, ("Expired",), spec=(("expiresAfter", "2h"),)),
    Turn(time_passes, ("KeyRotated", "KeyReady"), spec=OVERLAP),
    Turn(time_passes, ("KeyRotated", "KeyRetired", "KeyReady"), spec=ROTATION),
    Turn(the_request_is_deleted, ()),
    Turn(the_request_is_kept_by_others, ("Terminating",)),
)


async def told_since(tenant: Tenant, known: int) -> list[tuple[str, bool]]:
    """Return the reasons of the events after the first so many, and whether each is a warning."""
    later = (await tenant.events())[known:]
    assert all(event["regarding"]["name"] == REQUEST for event in later)
    return [(event["reason"], event["type"] == "Warning") for event in later]


@pytest.mark.parametrize("turn", TURNS, ids=str)
async def test_each_turn_in_the_life_of_a_key_is_told_once(
    tenant: Tenant, operator: TokenOperator, turn: Turn
) -> None:
    """The passes after it, which find nothing new, say nothing."""
    await tenant.order()
    await tenant.ask(**dict(turn.spec))
    await operator.reconcile(tenant.namespace, REQUEST)
    assert await told_since(tenant, 0) == [("KeyIssued", False), ("KeyReady", False)]

    await turn.act(tenant, operator)
    for _ in range(3):
        await operator.reconcile(tenant.namespace, REQUEST)

    assert await told_since(tenant, 2) == [(reason, turn.warning) for reason in turn.told]
    if await tenant.request():
        await tenant.strip_finalizers()


@pytest.mark.parametrize(
    ("spec", "ahead"),
    [
        pytest.param(dict(OVERLAP), timedelta(hours=3.6), id="after its overlap"),
        pytest.param({"expiresAfter": "2h"}, timedelta(hours=2, seconds=1), id="when it was told"),
    ],
)
async def test_the_end_of_a_replaced_key_is_told(
    tenant: Tenant, operator: TokenOperator, spec: dict[str, Any], ahead: timedelta
) -> None:
    """With its id and without the key; until then both work."""
    await tenant.order()
    await tenant.ask(**spec)
    await operator.reconcile(tenant.namespace, REQUEST)
    old = (await tenant.data())["OPENAI_API_KEY"]
    if "rotation" in spec:
        operator.clock.ahead = timedelta(hours=2.5)
    else:
        await the_life_is_prolonged(tenant, operator)
    await operator.reconcile(tenant.namespace, REQUEST)
    assert await tenant.opens(old)
    known = len(await tenant.events())

    operator.clock.ahead = ahead
    await operator.reconcile(tenant.namespace, REQUEST)

    assert not await tenant.opens(old)
    assert await told_since(tenant, known) == [("KeyRetired", False)]
    note = (await tenant.events())[-1]["note"]
    assert old.split("_")[1] in note
    assert old not in note
