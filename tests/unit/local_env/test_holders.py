import os
import socket
from pathlib import Path

import pytest

from privatellm_local.holders import UNKNOWN, holder_of

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


@pytest.mark.parametrize(
    ("family", "bound", "wanted"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "127.9.0.1"),  # noqa: S104 - the case under test
        (socket.AF_INET6, "::", "127.9.0.1"),
        (socket.AF_INET6, "::ffff:127.0.0.1", "127.0.0.1"),
    ],
)
def test_a_process_of_ours_is_named(family: int, bound: str, wanted: str) -> None:
    """Also one that listens on all addresses, or by IPv6."""
    with socket.socket(family, socket.SOCK_STREAM) as squatter:
        squatter.bind((bound, 0))
        squatter.listen(1)
        port = squatter.getsockname()[1]

        assert f"(process {os.getpid()})" in holder_of(wanted, port)
        assert bound.endswith(("0.0.0.0", "::")) or holder_of("127.0.0.2", port) == UNKNOWN  # noqa: S104

    assert holder_of(wanted, port) == UNKNOWN


def _table(proc: Path, user: int) -> Path:
    """Write a kernel's table with one listener of a user, and a connection of the same port."""
    (proc / "net").mkdir(parents=True)
    rows = (
        f"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {user} 0 4242 1\n"
        f"   1: 0100007F:1F91 0100007F:9999 01 00000000:00000000 00:00000000 00000000 {user} 0 4243 1\n"
    )
    (proc / "net" / "tcp").write_text(HEAD + rows)
    return proc


def test_of_another_users_process_the_user_is_named(tmp_path: Path) -> None:
    """The kernel does not say more, and a user without a name has a number."""
    another = "a program of user "

    assert holder_of("127.0.0.1", 8080, _table(tmp_path / "a", 54321)) == another + "54321"
    assert holder_of("127.0.0.1", 8080, _table(tmp_path / "b", os.geteuid())) == UNKNOWN


@pytest.mark.parametrize(("address", "port"), [("127.0.0.1", 8081), ("localhost", 8080)])
def test_what_is_not_known_is_not_guessed(tmp_path: Path, address: str, port: int) -> None:
    """A connection is no listener, a name is no address, and a machine may have no table."""
    assert holder_of(address, port, _table(tmp_path, 54321)) == UNKNOWN
    assert holder_of(address, port, tmp_path / "absent") == UNKNOWN
