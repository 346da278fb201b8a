"""Which network addresses a model may come from."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_operator.fetcher.addresses import AddressRule

STRICT = AddressRule()
OPEN = AddressRule(allow_private=True)

PUBLIC = ["8.8.8.8", "193.0.6.139", "2606:4700::6810:84e5", "2a00:1450:4001::1"]
FORBIDDEN = {
    "loopback": "127.0.0.1",
    "loopback, far end": "127.255.255.254",
    "IPv6 loopback": "::1",
    "private 10/8": "10.96.0.1",
    "private 172.16/12": "172.31.255.255",
    "private 192.168/16": "192.168.1.1",
    "unique local": "fd00::1",
    "cloud metadata": "169.254.169.254",
    "IPv6 link-local": "fe80::1",
    "site-local": "fec0::1",
    "carrier-grade NAT": "100.64.0.1",
    "unspecified": "0.0.0.0",  # noqa: S104 - the address itself is under test
    "IPv6 unspecified": "::",
    "multicast": "224.0.0.251",
    "global multicast": "233.252.0.1",
    "IPv6 multicast": "ff0e::1",
    "broadcast": "255.255.255.255",
    "reserved": "240.0.0.1",
    "documentation": "192.0.2.1",
    "benchmarking": "198.18.0.1",
    "IPv6 documentation": "2001:db8::1",
}
WRAPPERS = {
    "IPv4-mapped": lambda v4: ipaddress.IPv6Address((0xFFFF << 32) | int(v4)),
    "NAT64": lambda v4: ipaddress.IPv6Address((0x0064FF9B << 96) | int(v4)),
    "6to4": lambda v4: ipaddress.IPv6Address((0x2002 << 112) | (int(v4) << 80)),
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    """The internet is where models are."""
    assert STRICT.allows(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_inner_addresses_are_refused_unless_allowed(address: str) -> None:
    """A catalogue entry cannot reach the platform's own network, unless the platform says so."""
    assert not STRICT.allows(ipaddress.ip_address(address))
    assert OPEN.allows(ipaddress.ip_address(address))


@pytest.mark.parametrize("wrapper", WRAPPERS)
@given(number=st.integers(min_value=0, max_value=2**32 - 1))
def test_a_wrapped_address_is_judged_by_what_it_wraps(wrapper: str, number: int) -> None:
    """A translator on the path would connect to the inner address."""
    inner = ipaddress.IPv4Address(number)

    assert STRICT.allows(WRAPPERS[wrapper](inner)) == STRICT.allows(inner)


def test_a_teredo_tunnel_is_judged_by_both_its_ends() -> None:
    """Server and client address are inside."""
    inner_client = ipaddress.IPv6Address("2001:0:808:808::f5ff:fffe")  # client 10.0.0.1

    assert not STRICT.allows(inner_client)
