"""Does somebody else listen where we want to?

A port is probed by binding it ourselves for a moment, which also finds a stranger's listener on
``0.0.0.0`` that would answer on every loopback address. ``SO_REUSEADDR`` keeps connections that are
still dying after a stop from looking like a listener.
"""

import errno
import socket
from collections.abc import Mapping

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.errors import AddressError
from privatellm_local.holders import holder_of

POD_PORTS = (8000, 8001, 8080, 8090, 8091)
"""Ports that our pods and Services use on addresses of their own (model server, operator, authserver)."""


def is_free(address: str, port: int) -> bool:
    """Return whether we could listen on a port of a loopback address right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL}:
                return False
            raise
    return True


def is_slot_free(plan: AddressPlan, *, with_edge: bool) -> bool:
    """Return whether every port that belongs to the slot alone is free.

    Args:
        plan: The slot's addresses.
        with_edge: Look at the edge's port too; not wanted when the user chose that port.
    """
    ports = [*plan.internal_ports.values(), *([plan.edge] if with_edge else [])]
    return all(is_free(LOOPBACK, port) for port in ports)


def require_free(plan: AddressPlan) -> None:
    """Refuse to start when somebody else listens on a port of ours.

    Raises:
        AddressError: naming the port, its purpose and what to do.
    """
    if plan.edge in plan.internal_ports.values():
        raise AddressError(
            f"Port {plan.edge} belongs to another part of this environment: choose another port for "
            "the edge with --edge-port N."
        )
    if not is_free(LOOPBACK, plan.edge):
        raise AddressError(
            f"Port {plan.edge} for the edge is taken by {holder_of(LOOPBACK, plan.edge)}: end that "
            "program, or choose another port with --edge-port N."
        )
    _require_free_ports(plan.internal_ports)
    _require_free_pod_ports(plan)


def _require_free_ports(ports: Mapping[str, int]) -> None:
    for purpose, port in ports.items():
        if not is_free(LOOPBACK, port):
            raise AddressError(
                f"Port {port} for {purpose} is taken by {holder_of(LOOPBACK, port)}: end that program, "
                "or make an environment elsewhere with --state DIR."
            )


def _require_free_pod_ports(plan: AddressPlan) -> None:
    for network in (plan.service_cidr, plan.pod_cidr):
        # The last address of the block is never given to a pod or Service.
        address = str(network[-2])
        for port in POD_PORTS:
            if not is_free(address, port):
                raise AddressError(
                    f"Port {port} is taken on every loopback address by {holder_of(address, port)} (it "
                    "listens on 0.0.0.0), but model servers need it: end that program."
                )
