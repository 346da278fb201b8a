"""The executable ``privatellm-sync-agent``: connect both sides, take the Lease, sync until told to stop."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import structlog
from typing_extensions import override

from privatellm.errors import InvalidInputError, PrivateLLMError
from privatellm.kube.credentials import Credentials, load_credentials
from privatellm.kube.fence import FencedClient
from privatellm.kube.lease import Lease, LeaseSettings
from privatellm.telemetry.logs import configure_logging
from privatellm.telemetry.tracing import CountingSink, spans_of
from privatellm_sync_agent import flags as command_line
from privatellm_sync_agent import listeners
from privatellm_sync_agent.agent import Agent, AgentSettings
from privatellm_sync_agent.flags import Flags
from privatellm_sync_agent.kcp.home import find_home
from privatellm_sync_agent.listeners import Readiness
from privatellm_sync_agent.metrics import registry_of
from privatellm_sync_agent.process import AgentProcess, unless_stopped

log = structlog.get_logger(__name__)

EXIT_WRONG_INPUT, EXIT_FAILED = 2, 1


def main() -> None:
    """Run the agent as the command line says."""
    try:
        flags = command_line.parse(sys.argv[1:])
    except InvalidInputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_WRONG_INPUT)
    configure_logging(flags.log_format, "debug" if flags.log_debug else "info")
    try:
        with spans_of("private-llm-sync-agent", os.environ) as spans:
            _run(flags, spans)
    except InvalidInputError as error:
        log.critical("cannot start", error=str(error))
        sys.exit(EXIT_WRONG_INPUT)


def _run(flags: Flags, spans: CountingSink | None) -> None:
    """Run the agent to its end; say why when it is not a good one."""
    try:
        asyncio.run(_until_stopped(flags, spans))
    except PrivateLLMError as error:
        log.error("stopped", error=str(error))  # noqa: TRY400 - the message says all that helps
        sys.exit(EXIT_FAILED)


async def _until_stopped(flags: Flags, spans: CountingSink | None) -> None:
    """Run until a signal asks for the end, which is then an orderly one."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await run(flags, stop, spans)
    except ExceptionGroup as group:
        raise _first(group) from group
    log.info("stopped")


async def run(flags: Flags, stop: asyncio.Event, spans: CountingSink | None = None) -> None:
    """Connect, lead and sync until asked to stop.

    Args:
        flags: What the command line asks for.
        stop: Set when somebody asks for the end.
        spans: Where traces go; ``None`` when nobody wants them.

    Raises:
        PrivateLLMError: when the flags do not fit the world, or somebody else leads now.
    """
    async with (
        FencedClient(await _service_credentials(flags)) as service,
        await FencedClient.connect(flags.kcp_kubeconfig) as kcp,
    ):
        lease = Lease(service, _lease_settings(flags)) if flags.leader_election else None
        agent = await unless_stopped(stop, _agent(flags, service, kcp, lease, spans))
        if agent is None:
            return
        readiness = Readiness(agent, lease)
        async with (
            listeners.probes(flags.health, readiness),
            listeners.metrics(
                flags.metrics, registry_of(agent, lambda: readiness.is_leading, spans)
            ),
        ):
            await AgentProcess(agent, lease, readiness, stop).run()


async def _agent(
    flags: Flags,
    service: FencedClient,
    kcp: FencedClient,
    lease: Lease | None,
    spans: CountingSink | None,
) -> Agent:
    """Return the agent, behind a fence where there is a Lease, which itself is renewed in front of it."""
    if lease is not None:
        service, kcp = service.behind(lease.is_certain), kcp.behind(lease.is_certain)
    home = await find_home(kcp, flags.endpoint_slice)
    settings = AgentSettings(
        name=flags.agent_name,
        selector=flags.selector,
        disabled=flags.disabled,
        provided=flags.provided,
        overrides=flags.overrides,
    )
    return Agent(settings, service=service, kcp=kcp, home=home, spans=spans)


def _lease_settings(flags: Flags) -> LeaseSettings:
    identity = f"{socket.gethostname()}_{os.getpid()}"
    return LeaseSettings(flags.namespace, f"syncagent.{flags.agent_name}", identity)


async def _service_credentials(flags: Flags) -> Credentials:
    credentials = await load_credentials(flags.kubeconfig)
    if not flags.host_override and not flags.ca_file_override:
        return credentials
    return OverriddenCredentials(
        credentials.kubeconfig,
        credentials.configuration,
        flags.host_override,
        flags.ca_file_override,
    )


class OverriddenCredentials(Credentials):
    """Credentials whose host or CA the command line replaces, after every reload as well."""

    def __init__(
        self, kubeconfig: Path | None, configuration: Any, host: str, ca_file: str
    ) -> None:
        super().__init__(kubeconfig, configuration)
        self._host, self._ca_file = host, ca_file
        self._override()

    @override
    async def refresh(self) -> None:
        """Read the credentials again and override them again."""
        await super().refresh()
        self._override()

    def _override(self) -> None:
        if self._host:
            self.configuration.host = self._host
        if self._ca_file:
            self.configuration.ssl_ca_cert = self._ca_file
            self.configuration.ca_cert_data = None


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """Return the failure that a person should read: the first, however deep it is."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error


if __name__ == "__main__":
    main()
