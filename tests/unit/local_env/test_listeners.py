import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from privatellm_local import listeners
from privatellm_local.addresses import LOOPBACK, AddressPlan, plan_for
from privatellm_local.errors import AddressError


@contextmanager
def _listening(address: str, port: int) -> Iterator[None]:
    with socket.create_server((address, port)):
        yield


@pytest.fixture
def free_plan() -> AddressPlan:
    """A slot that nobody listens on now."""
    plans = (plan_for(slot) for slot in range(100, 0, -1))
    return next(plan for plan in plans if listeners.is_slot_free(plan, with_edge=True))


def test_free_ports_are_no_reason_to_refuse(free_plan: AddressPlan) -> None:
    """Looking leaves nothing behind, so looking twice gives the same answer."""
    assert listeners.is_slot_free(free_plan, with_edge=True)
    assert listeners.is_slot_free(free_plan, with_edge=True)


@pytest.mark.parametrize("address", [LOOPBACK, "0.0.0.0"])  # noqa: S104 - the case under test
def test_a_taken_edge_port_is_named_with_the_way_out(free_plan: AddressPlan, address: str) -> None:
    """A listener on all addresses counts too."""
    with _listening(address, free_plan.edge), pytest.raises(AddressError) as caught:
        listeners.require_free(free_plan)

    assert str(free_plan.edge) in str(caught.value)
    assert f"(process {os.getpid()}): end that program" in str(caught.value)
    assert "--edge-port" in str(caught.value)


def test_the_edge_cannot_take_a_port_of_its_own_environment(free_plan: AddressPlan) -> None:
    """Both would be free, and one of them would fail later."""
    plan = plan_for(free_plan.slot, edge_port=free_plan.etcd)

    with pytest.raises(AddressError, match="another part of this environment"):
        listeners.require_free(plan)


def test_a_taken_internal_port_is_named_with_its_purpose(free_plan: AddressPlan) -> None:
    """One reads what would have listened there."""
    with _listening(LOOPBACK, free_plan.etcd), pytest.raises(AddressError) as caught:
        listeners.require_free(free_plan)

    assert f"Port {free_plan.etcd} for etcd" in str(caught.value)
    assert "--state" in str(caught.value)


def test_a_taken_edge_port_matters_only_to_slots_that_use_it(free_plan: AddressPlan) -> None:
    """With a chosen edge port the slot's own may be taken."""
    with _listening(LOOPBACK, free_plan.edge):
        assert not listeners.is_slot_free(free_plan, with_edge=True)
        assert listeners.is_slot_free(free_plan, with_edge=False)


def test_a_squatter_on_the_pods_port_is_found(
    free_plan: AddressPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the place of every model server."""
    monkeypatch.setattr(listeners, "POD_PORTS", (free_plan.edge_internal + 10,))
    port = listeners.POD_PORTS[0]

    with _listening("0.0.0.0", port), pytest.raises(AddressError, match=f"Port {port} is taken on"):  # noqa: S104
        listeners.require_free(free_plan)
