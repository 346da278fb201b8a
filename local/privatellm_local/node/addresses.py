"""Pod addresses: one of the pod range for each pod, and not the one that was just given back.

A pod keeps its address over a restart of the agent, because ``status.podIPs`` is merged by address and
refuses a second one.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from privatellm_local.node.errors import ContainerRefusedError


class AddressPool:
    """The addresses of one range, handed out in a circle."""

    def __init__(self, network: IPv4Network) -> None:
        self._network = network
        self._owners: dict[IPv4Address, str] = {}
        self._circle = self._candidates()

    def take(self, owner: str, wanted: str = "") -> str:
        """Return an address for a pod.

        Args:
            owner: UID of the pod.
            wanted: The address it had before, which it gets again if nobody else has it.

        Raises:
            ContainerRefusedError: when every address is taken.
        """
        if wanted and self._available(IPv4Address(wanted), owner):
            return self._give(IPv4Address(wanted), owner)
        for address in islice(self._circle, self._network.num_addresses):
            if address not in self._owners:
                return self._give(address, owner)
        raise ContainerRefusedError(f"Every address of {self._network} is taken by a pod.")

    def release(self, owner: str) -> None:
        """Give back what a pod had."""
        self._owners = {address: uid for address, uid in self._owners.items() if uid != owner}

    def _available(self, address: IPv4Address, owner: str) -> bool:
        return address in self._network and self._owners.get(address, owner) == owner

    def _give(self, address: IPv4Address, owner: str) -> str:
        self._owners[address] = owner
        return str(address)

    def _candidates(self) -> Iterator[IPv4Address]:
        while True:
            yield from self._network.hosts()
