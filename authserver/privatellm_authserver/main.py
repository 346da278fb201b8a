"""``privatellm-authserver``: read the settings, open both ports, run until told to stop.

Everything is made here, in order, and handed on; nothing is made at import. What cannot work (a setting,
the platform key, a port in use) ends the start with one sentence, also where only workers use it: they
would be started again and again. SIGTERM and SIGINT drain: the pod stops
being ready, goes on answering while the edge takes notice, then lets every worker finish. A second signal
cuts the wait short.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys

import structlog
import uvloop

from privatellm.backend_keys import PlatformKey
from privatellm.errors import InvalidInputError, PrivateLLMError
from privatellm.telemetry.logs import configure_logging
from privatellm.telemetry.tracing import CountingSink, spans_of
from privatellm_authserver.admin import create_admin_app
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.serving import listen, make_server
from privatellm_authserver.settings import Settings
from privatellm_authserver.supervisor import Supervisor

MISTAKEN = 2
"""Exit code when the settings are wrong; starting again will not help."""


class StopSignals:
    """Turns SIGTERM and SIGINT into events: the first one asks, the second one urges."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.urged = asyncio.Event()

    def install(self) -> None:
        """Listen for the signals in the running loop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._received)

    def _received(self) -> None:
        (self.urged if self.asked.is_set() else self.asked).set()

    async def wait_for_edge(self, seconds: float) -> None:
        """Wait until the edge has had time to notice, or somebody is in a hurry."""
        try:
            await asyncio.wait_for(self.urged.wait(), seconds)
        except TimeoutError:
            return


async def serve(
    settings: Settings, verify: socket.socket, admin: socket.socket, spans: CountingSink | None
) -> None:
    """Run the service until a signal.

    Args:
        settings: The service's settings.
        verify: The listening socket of the verify port.
        admin: The listening socket of the admin port.
        spans: Where decisions of kept traces go; ``None`` when nobody wants them.
    """
    log = structlog.stdlib.get_logger("privatellm.authserver")
    signals = StopSignals()
    signals.install()
    fleet = Fleet(settings.workers)
    supervisor = Supervisor(fleet, verify, spans)
    server = make_server(create_admin_app(fleet, settings.max_staleness_seconds, spans=spans))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(supervisor.run())
        tasks.create_task(server.serve(sockets=[admin]))
        log.info(
            "started",
            workers=settings.workers,
            verify_port=settings.verify_port,
            admin_port=settings.admin_port,
        )
        await signals.asked.wait()
        log.info("stopping", drain_seconds=settings.drain_seconds)
        fleet.draining = True
        await signals.wait_for_edge(settings.drain_seconds)
        supervisor.stop()
        await running
        server.should_exit = True
    log.info("stopped")


def main() -> None:
    """Run ``privatellm-authserver``."""
    argparse.ArgumentParser(
        prog="privatellm-authserver",
        description="Answers Traefik's ForwardAuth requests. Set by environment variables only.",
    ).parse_args()
    try:
        settings = Settings.from_environment()
    except InvalidInputError as error:
        # How to log is one of the settings.
        sys.stderr.write(f"privatellm-authserver: {error}\n")
        sys.exit(MISTAKEN)
    configure_logging(settings.log_format, settings.log_level)
    log = structlog.stdlib.get_logger("privatellm.authserver")
    try:
        PlatformKey.read(settings.platform_key_file)
        with (
            spans_of("private-llm-authserver", os.environ) as spans,
            listen(settings.bind_host, settings.verify_port) as verify,
            listen(settings.bind_host, settings.admin_port) as admin,
        ):
            uvloop.run(serve(settings, verify, admin, spans))
    except InvalidInputError as error:
        log.critical("cannot start", error=str(error))
        sys.exit(MISTAKEN)
    except PrivateLLMError as error:
        log.critical("stopped", error=str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
