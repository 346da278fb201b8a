"""Run the double as a process: ``python -m privatellm_local.kcp --config FILE``."""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from aiohttp import web

from privatellm.errors import PrivateLLMError
from privatellm.kube.credentials import load_credentials
from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm_local.kcp import config, control
from privatellm_local.kcp.config import KcpConfig
from privatellm_local.kcp.server import KcpDouble


def main() -> None:
    """Serve until a signal asks for the end."""
    parser = argparse.ArgumentParser(prog="privatellm-kcp", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    configure_logging(LogFormat.JSON, "info")
    try:
        asyncio.run(_serve(config.read(parser.parse_args().config)))
    except PrivateLLMError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)


async def _serve(settings: KcpConfig) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    credentials = await load_credentials(settings.kubeconfig)
    async with contextlib.AsyncExitStack() as stack:
        double = await stack.enter_async_context(
            KcpDouble(
                credentials,
                settings.table(),
                host=settings.host,
                port=settings.port,
                tls=settings.tls(),
            )
        )
        if settings.fault_port is not None:
            await _open_fault_port(stack, double, settings.fault_port)
        sys.stdout.write(f"{double.url}\n")
        sys.stdout.flush()
        await stop.wait()


async def _open_fault_port(stack: contextlib.AsyncExitStack, double: KcpDouble, port: int) -> None:
    runner = web.AppRunner(control.application(double.faults, double.registry), access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", port).start()


if __name__ == "__main__":
    main()
