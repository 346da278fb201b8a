from ipaddress import IPv4Network

import pytest

from privatellm_local.node.addresses import AddressPool
from privatellm_local.node.errors import NodeError

NETWORK = IPv4Network("127.111.0.0/29")


def test_every_pod_has_an_address_of_its_own_until_there_are_none() -> None:
    """The range bounds the number of pods."""
    pool = AddressPool(NETWORK)
    taken = {pool.take(f"pod-{n}") for n in range(6)}

    assert len(taken) == 6
    with pytest.raises(NodeError, match="taken"):
        pool.take("one more")


def test_a_pod_keeps_the_address_that_it_reported() -> None:
    """``status.podIPs`` refuses a second one."""
    assert AddressPool(NETWORK).take("pod", "127.111.0.4") == "127.111.0.4"


@pytest.mark.parametrize("wanted", ["127.111.0.1", "10.0.0.1"])
def test_an_address_of_somebody_else_is_not_given_twice(wanted: str) -> None:
    """Neither one that is taken nor one that is out of range."""
    pool = AddressPool(NETWORK)
    pool.take("first", "127.111.0.1")

    assert pool.take("second", wanted) not in {"127.111.0.1", "10.0.0.1"}


def test_a_released_address_is_not_the_next_one_given() -> None:
    """Connections to the old pod must not meet the new one."""
    pool = AddressPool(NETWORK)
    first = pool.take("first")
    pool.release("first")

    assert pool.take("second") != first
    assert {pool.take(f"pod-{n}") for n in range(5)} >= {first}
