"""The command line of ``privatellm-drain``, parsed once."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DEFAULT_PORT = 8001
DEFAULT_SETTLE_SECONDS = 5.0
DEFAULT_GRACE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """What to wait for, and how long.

    Attributes:
        host: Where the model server listens, and where we do.
        server_port: The model server's port.
        port: Our port.
        api_key_file: Holds the key that the server's metrics ask for.
        settle_seconds: How long edges may still send new requests to a pod that is being deleted.
        grace_seconds: The longest time to wait.
    """

    host: str
    server_port: int
    port: int
    api_key_file: Path
    settle_seconds: float
    grace_seconds: float


def parse_arguments(argv: Sequence[str]) -> DrainSettings:
    """Read the command line; what is wrong with it ends the program with code 2."""
    parser = argparse.ArgumentParser(
        prog="privatellm-drain", description="Waits until a model server has nothing in hand."
    )
    parser.add_argument("--host", required=True, help="the pod's address")
    parser.add_argument("--server-port", type=int, required=True)
    parser.add_argument("--api-key-file", required=True, type=Path)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--settle-seconds", type=float, default=DEFAULT_SETTLE_SECONDS)
    parser.add_argument("--grace-seconds", type=float, default=DEFAULT_GRACE_SECONDS)
    given = parser.parse_args(argv)
    return DrainSettings(
        host=given.host,
        server_port=given.server_port,
        port=given.port,
        api_key_file=given.api_key_file,
        settle_seconds=given.settle_seconds,
        grace_seconds=given.grace_seconds,
    )
