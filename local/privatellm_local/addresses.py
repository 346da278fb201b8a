"""Which loopback addresses and ports an environment uses.

An environment owns a *slot*. A slot is two blocks of ``127.0.0.0/8`` (cluster IPs and pod IPs) and a
range of ports on ``127.0.0.1``, so two environments never meet. The first choice follows from the
path of the state directory; on a collision the next free slot is taken, once, and remembered.

This module only calculates. Who owns which slot is in :mod:`privatellm_local.slots`, whether somebody
else listens there is asked by :mod:`privatellm_local.listeners`.
"""

from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

LOOPBACK = "127.0.0.1"

SLOTS = 119
"""How many environments fit side by side: as many as there are pairs of blocks below."""

FIRST_SERVICE_BLOCK = 8
"""Second octet of slot 0's cluster IPs; 127.0 to 127.7 stay free for what systems put there."""

FIRST_POD_BLOCK = 128
"""Second octet of slot 0's pod IPs."""

FIRST_PORT = 20_000
"""First port of slot 0; the whole range stays below the ports that kernels hand out by themselves."""

PORTS_PER_SLOT = 20

LOWEST_EDGE_PORT, HIGHEST_EDGE_PORT = 1024, 65535
"""Which ports the edge may have; lower ones cannot be bound without root."""


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Every address and port of one environment. Ports are on ``127.0.0.1`` unless said otherwise."""

    slot: int
    service_cidr: IPv4Network
    pod_cidr: IPv4Network
    edge: int
    edge_internal: int
    apiserver: int
    etcd: int
    etcd_peer: int
    controller_manager: int
    scheduler: int
    kubelet: int
    kcp_apiserver: int
    kcp: int

    @property
    def kubernetes_service(self) -> IPv4Address:
        """The cluster IP of ``kubernetes.default``: by rule the first of the service block."""
        return self.service_cidr[1]

    @property
    def authserver_service(self) -> IPv4Address:
        """The fixed cluster IP of the ForwardAuth service, because there is no DNS."""
        return self.service_cidr[10]

    @property
    def edge_url(self) -> str:
        """Where customers' requests enter."""
        return f"http://{LOOPBACK}:{self.edge}"

    @property
    def apiserver_url(self) -> str:
        """Where the Kubernetes API is."""
        return f"https://{LOOPBACK}:{self.apiserver}"

    @property
    def kcp_apiserver_url(self) -> str:
        """Where the API server behind the kcp double is."""
        return f"https://{LOOPBACK}:{self.kcp_apiserver}"

    @property
    def kcp_url(self) -> str:
        """Where kcp is, for environments that have one."""
        return f"https://{LOOPBACK}:{self.kcp}"

    @property
    def internal_ports(self) -> dict[str, int]:
        """Ports by what listens there, without the edge's public one."""
        return {
            "etcd": self.etcd,
            "etcd peers": self.etcd_peer,
            "kube-apiserver": self.apiserver,
            "kube-controller-manager": self.controller_manager,
            "kube-scheduler": self.scheduler,
            "the edge's health": self.edge_internal,
            "the host node": self.kubelet,
            "the API server behind kcp": self.kcp_apiserver,
            "kcp": self.kcp,
        }


def plan_for(slot: int, edge_port: int | None = None) -> AddressPlan:
    """Return the addresses of a slot.

    Args:
        slot: 0 to :data:`SLOTS` - 1.
        edge_port: Port of the edge; the slot's own when ``None``.
    """
    if not 0 <= slot < SLOTS:
        raise ValueError(f"slot must be between 0 and {SLOTS - 1}, got {slot}")
    base = FIRST_PORT + slot * PORTS_PER_SLOT
    return AddressPlan(
        slot=slot,
        service_cidr=IPv4Network(f"127.{FIRST_SERVICE_BLOCK + slot}.0.0/16"),
        pod_cidr=IPv4Network(f"127.{FIRST_POD_BLOCK + slot}.0.0/16"),
        edge=base if edge_port is None else edge_port,
        edge_internal=base + 1,
        apiserver=base + 2,
        etcd=base + 3,
        etcd_peer=base + 4,
        controller_manager=base + 5,
        scheduler=base + 6,
        kubelet=base + 7,
        kcp_apiserver=base + 8,
        kcp=base + 9,
    )


def preferred_slot(state_directory: Path) -> int:
    """Return the slot that a state directory asks for first; the same path always asks for the same."""
    digest = sha256(str(state_directory).encode()).digest()
    return int.from_bytes(digest[:8]) % SLOTS


def candidate_slots(first: int) -> list[int]:
    """Return all slots in the order in which they are tried."""
    return [(first + step) % SLOTS for step in range(SLOTS)]
