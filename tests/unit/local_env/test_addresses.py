from ipaddress import IPv4Network
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.addresses import SLOTS, candidate_slots, plan_for, preferred_slot

LOOPBACK_NETWORK = IPv4Network("127.0.0.0/8")
SYSTEMS_OWN = IPv4Network("127.0.0.0/13")
FIRST_EPHEMERAL_PORT = 32_768

every_slot = st.integers(min_value=0, max_value=SLOTS - 1)


@given(every_slot)
def test_everything_stays_on_loopback(slot: int) -> None:
    """Both blocks lie in 127.0.0.0/8 and leave alone what systems put at its beginning."""
    plan = plan_for(slot)

    for network in (plan.service_cidr, plan.pod_cidr):
        assert network.subnet_of(LOOPBACK_NETWORK)
        assert not network.overlaps(SYSTEMS_OWN)
    assert plan.edge_url.startswith("http://127.0.0.1:")
    assert plan.apiserver_url.startswith("https://127.0.0.1:")


def test_no_two_slots_share_an_address_or_a_port() -> None:
    """Environments in different slots cannot meet."""
    plans = [plan_for(slot) for slot in range(SLOTS)]
    networks = sorted(network for plan in plans for network in (plan.service_cidr, plan.pod_cidr))
    ports = [port for plan in plans for port in (plan.edge, *plan.internal_ports.values())]

    assert not any(one.overlaps(other) for one, other in pairwise(networks))
    assert len(ports) == len(set(ports))
    assert all(1024 < port < FIRST_EPHEMERAL_PORT for port in ports)


def test_the_edge_port_can_be_chosen() -> None:
    """A chosen edge port changes nothing else."""
    chosen, usual = plan_for(3, edge_port=8080), plan_for(3)

    assert chosen.edge == 8080
    assert chosen.internal_ports == usual.internal_ports


@pytest.mark.parametrize("slot", [-1, SLOTS])
def test_a_slot_outside_the_range_is_refused(slot: int) -> None:
    """The message names the range and the value."""
    with pytest.raises(ValueError, match=rf"between 0 and {SLOTS - 1}, got {slot}"):
        plan_for(slot)


@given(st.text(min_size=1))
def test_a_path_always_prefers_the_same_slot(name: str) -> None:
    """The choice depends on the path alone."""
    path = Path("/state") / name.replace("\0", "")

    assert preferred_slot(path) == preferred_slot(path)
    assert preferred_slot(path) in range(SLOTS)


@given(every_slot)
def test_every_slot_is_tried_once_beginning_with_the_preferred_one(slot: int) -> None:
    """Nothing is left out and nothing is tried twice."""
    order = candidate_slots(slot)

    assert order[0] == slot
    assert sorted(order) == list(range(SLOTS))
