"""``python -m privatellm_operator.portal``: serve the portal's document until asked to stop."""

import sys

from aiohttp import web

from privatellm.telemetry.logs import configure_logging
from privatellm_operator.portal.arguments import parse
from privatellm_operator.portal.document import Source
from privatellm_operator.portal.server import create_application

SHUTDOWN_SECONDS = 5.0


def main() -> int:
    """Serve until a signal asks for the end; return 1 when the address cannot be bound."""
    arguments = parse(sys.argv[1:])
    configure_logging(arguments.log_format, "info")
    application = create_application(Source(arguments.file), arguments.path)
    try:
        web.run_app(
            application,
            host=arguments.host,
            port=arguments.port,
            shutdown_timeout=SHUTDOWN_SECONDS,
            access_log=None,
            print=None,
        )
    except OSError as error:
        sys.stderr.write(
            f"privatellm-portal: cannot listen on {arguments.host}:{arguments.port}: {error.strerror}.\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
