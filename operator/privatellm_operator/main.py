"""``privatellm-operator``: read the settings, connect, run."""

import asyncio
import logging
import os
import sys

import structlog

from privatellm.backend_keys import PlatformKey
from privatellm.errors import InvalidInputError, PrivateLLMError
from privatellm.kube import KubeClient
from privatellm.kube.fence import FencedClient
from privatellm.kube.lease import Lease
from privatellm.telemetry.logs import configure_logging
from privatellm.telemetry.tracing import spans_of
from privatellm_operator.process import OperatorProcess, lease_settings
from privatellm_operator.settings import Settings

log = structlog.get_logger(__name__)

MISTAKEN = 2
"""Exit code when the settings are wrong; starting again will not help."""


def main() -> int:
    """Run the operator and return the exit code: 0 after a signal, 1 after a failure."""
    try:
        settings = Settings.of_environment()
    except InvalidInputError as error:
        sys.stderr.write(f"privatellm-operator: {error}\n")
        return MISTAKEN
    configure_logging(settings.logs.log_format, settings.logs.log_level)
    # One line for each event of each object says nothing that a pass does not say better.
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    try:
        asyncio.run(serve(settings))
    except InvalidInputError as error:
        log.critical("cannot start", error=str(error))
        return MISTAKEN
    except (PrivateLLMError, OSError) as error:
        log.critical("stopped", error=str(error))
        return 1
    return 0


async def serve(settings: Settings) -> None:
    """Run one operator process until it is asked to stop.

    Raises:
        InvalidInputError: when the platform key or the way to the cluster is missing, or when the
            environment wants traces to be sent in a way that we do not know.
        PrivateLLMError: when the process cannot go on.
        OSError: when the listener's address cannot be bound.
    """
    platform_key = PlatformKey.read(settings.tokens.platform_key_file)
    with spans_of("private-llm-operator", os.environ) as spans:
        async with (
            await FencedClient.connect() as client,
            await KubeClient.connect(connection_limit=0) as watch_client,
        ):
            lease = Lease(client, lease_settings(settings))
            process = OperatorProcess(settings, platform_key, client, watch_client, lease, spans)
            await process.run()


if __name__ == "__main__":
    sys.exit(main())
