"""The authserver's own supervisor over the process of ``verify_server.py``, which it starts.

It takes the reports in, keeps what is counted, and sends the spans to the collector that the environment
names, as in a pod; so what a worker does not do for each request, but tells once a second, is measured with
it. It runs on the core of the load, until it is killed.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm.telemetry.tracing import open_sink
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.serving import listen
from privatellm_authserver.supervisor import CommandFor, Supervisor

SERVER = Path(__file__).parent / "verify_server.py"
PATIENCE_SECONDS = 600.0


def command_of(arguments: Sequence[str]) -> CommandFor:
    """Return what makes the command line of the process, from arguments and its end of the channel."""

    def command_for(_number: int, _listener: int, channel: int) -> Sequence[str]:
        # It listens by itself, on a port for each of its applications.
        return (sys.executable, str(SERVER), *arguments, f"--channel={channel}")

    return command_for


def main() -> None:
    """Supervise one process; arguments that are not ours are its."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--own-core", type=int, required=True)
    own, others = parser.parse_known_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {own.own_core})
    configure_logging(LogFormat.JSON, "info")
    spans = open_sink("private-llm-authserver", os.environ)
    with listen("127.0.0.1", 0) as listener:
        # A large index is filled before the first report.
        supervisor = Supervisor(
            Fleet(1), listener, spans, command_for=command_of(others), hung_seconds=PATIENCE_SECONDS
        )
        uvloop.run(supervisor.run())


if __name__ == "__main__":
    main()
