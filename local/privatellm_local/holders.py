"""Who listens on a port, as far as ``/proc`` tells; only to say more in an error that is raised anyway.

The kernel shows every listening socket and its user to everybody, but which process holds it only for
processes of our own user. Without ``/proc``, or for a socket elsewhere, nothing is known.
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

UNKNOWN = "another program"

_LISTEN = "0A"
"""State of a listening socket in ``/proc/net/tcp``."""


@dataclass(frozen=True, slots=True)
class _Socket:
    address: IPv4Address | IPv6Address
    port: int
    user: int
    inode: str


def holder_of(address: str, port: int, proc: Path = Path("/proc")) -> str:
    """Return in words who listens on a port: a process, a user, or another program.

    Args:
        address: The address that we wanted; of a name nothing is known.
        port: The port that we wanted.
        proc: Where the kernel tells.
    """
    try:
        wanted = ip_address(address)
    except ValueError:
        return UNKNOWN
    for found in _listening(proc):
        if found.port == port and _covers(found.address, wanted):
            return _process(found.inode, proc) or _user(found.user)
    return UNKNOWN


def _listening(proc: Path) -> Iterator[_Socket]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    host, _, port = fields[1].partition(":")
                    yield _Socket(_address(host), int(port, 16), int(fields[7]), fields[9])


def _address(text: str) -> IPv4Address | IPv6Address:
    """Read an address, of which each four bytes are in the machine's order."""
    raw = bytes.fromhex(text)
    address = ip_address(b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4)))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _covers(bound: IPv4Address | IPv6Address, wanted: IPv4Address | IPv6Address) -> bool:
    return bound.is_unspecified or bound == wanted


def _process(inode: str, proc: Path) -> str:
    """Return the process that holds a socket, or nothing when none of ours does."""
    wanted = f"socket:[{inode}]"
    for process in proc.iterdir():
        # A process of somebody else, or one that has just ended.
        with suppress(OSError):
            if process.name.isdigit() and wanted in _open_files(process):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
    return ""


def _open_files(process: Path) -> Iterator[str]:
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):
            yield str(descriptor.readlink())


def _user(number: int) -> str:
    if number == os.geteuid():
        return UNKNOWN
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    return f"a program of user {name}"
