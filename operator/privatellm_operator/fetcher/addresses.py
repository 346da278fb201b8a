"""Which network addresses a model may come from.

A catalogue entry is a URL, and a URL can point at the cloud's metadata service, the cluster's own
services or a neighbour's database. Unless the platform allows it, only globally routable unicast
addresses are contacted. Addresses that wrap an IPv4 address (mapped, NAT64, 6to4, Teredo) are judged
by what they wrap, since a translator on the path would connect there.
"""

import ipaddress
from dataclasses import dataclass
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_SITE_LOCAL = ipaddress.IPv6Network("fec0::/10")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_LOW_32_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Whether addresses that are not globally routable may be contacted."""

    allow_private: bool = False

    def allows(self, address: Address) -> bool:
        """Whether this address may be contacted."""
        judged = _wrapped(address) or (address,)
        return self.allow_private or all(_is_public(part) for part in judged)


def _is_public(address: Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not (isinstance(address, ipaddress.IPv6Address) and address in _SITE_LOCAL)
    )


def _wrapped(address: Address) -> tuple[ipaddress.IPv4Address, ...]:
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        return (ipaddress.IPv4Address(int(address) & _LOW_32_BITS),)
    return ()
