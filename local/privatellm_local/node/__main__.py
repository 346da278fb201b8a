"""``python -m privatellm_local.node --config FILE``: run the host node until SIGTERM or SIGINT."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from privatellm.errors import PrivateLLMError
from privatellm.telemetry.logs import LogFormat, configure_logging
from privatellm_local.node import agent
from privatellm_local.node.config import NodeConfig

_UMASK = 0o077


def main() -> int:
    """Run the node; return 0 when it was told to stop and 1 when it cannot work."""
    parser = argparse.ArgumentParser(prog="privatellm_local.node", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="JSON file of the node")
    arguments = parser.parse_args()
    os.umask(_UMASK)
    try:
        config = NodeConfig.load(arguments.config)
        configure_logging(LogFormat.CONSOLE, config.log_level)
        asyncio.run(_run(config))
    except PrivateLLMError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one line a person reads
        return 1
    return 0


async def _run(config: NodeConfig) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await agent.run(config, stop)


if __name__ == "__main__":
    sys.exit(main())
